/// @file
/// The C API of anybit, in C99, for use on a device. A session loads a float model, runs it, gathers the
/// ranges of its activations while it runs, quantizes it in place, continues with the quantized model, and
/// generates code for a backend. docs/device.md is the guide.
///
/// @code{.c}
/// #include <stdio.h>
///
/// #include "anybit/anybit.h"
///
/// static float input[28 * 28], output[10];
///
/// int main(void) {
///   anybit_session* session = NULL;
///   anybit_status status = anybit_create_session(&session);
///   if (!status) status = anybit_load_model_from_file(session, "model.onnx");
///   if (!status) status = anybit_prepare(session);
///   if (!status) status = anybit_set_input(session, 0, ANYBIT_TYPE_FLOAT32, input, sizeof input);
///   if (!status) status = anybit_set_output(session, 0, ANYBIT_TYPE_FLOAT32, output, sizeof output);
///   if (!status) status = anybit_set_execute_config(session, ANYBIT_GATHER_RANGES);
///   for (int i = 0; i < 100 && !status; ++i) status = anybit_run(session);  // with a new input each time
///   if (!status) status = anybit_set_quantization_type(session, ANYBIT_QUANTIZE_U8_ASYM);
///   if (!status) status = anybit_quantize(session);  // writes model.q.onnx, which is in use from here on
///   if (!status) status = anybit_reset_execute_config(session);
///   if (!status) status = anybit_run(session);  // the same buffers
///   if (status) fprintf(stderr, "%s\n", anybit_last_error(session));
///   anybit_close_session(session);
///   return status != ANYBIT_OK;
/// }
/// @endcode
///
/// **Errors.** Every function that can fail returns an anybit_status. A call that fails changes nothing,
/// unless its description says otherwise. anybit_last_error() describes the error, its location and a remedy.
///
/// **Threads.** Different sessions may be used by different threads at the same time, also when they share a
/// model. One session must be used by one thread at a time.
///
/// **ABI.** Before version 1.0, a change in this header raises the library's minor version. From 1.0 on,
/// numeric values keep their meaning, structures keep their layout, and functions are added but never changed
/// (docs/device.md).

// States. A session is created, loaded, prepared, and then it has run. `·`: the call is allowed. `-`: it
// returns ANYBIT_INVALID_STATE and changes nothing. A word: the state after a successful call.
//
//   call                          created   loaded    prepared  run
//   close_session                 ·         ·         ·         ·
//   last_error                    ·         ·         ·         ·
//   load_model_from_file          loaded    -         -         -
//   load_model_from_memory        loaded    -         -         -
//   share_model                   prepared  -         -         -
//   set_threads                   ·         ·         -         -
//   set_limit                     ·         -         -         -
//   set_reproducible              ·         ·         -         -
//   set_workspace                 ·         ·         -         -
//   add_variable                  -         ·         -         -
//   set_plugin_directory          ·         ·         ·         ·
//   set_available_backends        ·         ·         ·         ·
//   prepare                       -         prepared  ·         ·
//   input_count                   -         ·         ·         ·
//   output_count                  -         ·         ·         ·
//   input_info                    -         ·         ·         ·
//   output_info                   -         ·         ·         ·
//   set_input_shape               -         ·         ·         ·
//   set_input                     -         ·         ·         ·
//   set_output                    -         ·         ·         ·
//   variable_info                 -         -         ·         ·
//   get_variable                  -         -         ·         ·
//   set_variable                  -         -         ·         ·
//   run                           -         -         run       run
//   set_execute_config            -         ·         ·         ·
//   reset_execute_config          -         ·         ·         ·
//   profile                       -         -         -         ·
//   ranges_runs                   -         ·         ·         ·
//   save_ranges                   -         ·         ·         ·
//   reset_ranges                  -         ·         ·         ·
//   set_quantization_type         ·         ·         ·         ·
//   set_quantization_recipe       ·         ·         ·         ·
//   set_quantized_model_path      ·         ·         ·         ·
//   quantize                      -         prepared  prepared  prepared
//   quantized_model_path          -         ·         ·         ·
//   set_codegen_model_path        ·         ·         ·         ·
//   codegen                       -         loaded    prepared  prepared
//   codegen_model_path            -         ·         ·         ·
//   run_with_auto_compilation     -         -         run       run
//   model_in_use                  -         ·         ·         ·
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "anybit/export.hpp"
#include "anybit/preference.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Types

/// A model together with everything that running it takes. Opaque; created by anybit_create_session() and
/// freed by anybit_close_session().
typedef struct anybit_session anybit_session;

/// The result of a call. The numbers are those of anybit::Code (anybit/result.hpp). Later versions may add
/// values: treat an unknown one as a failure.
typedef enum anybit_status ANYBIT_ENUM_TYPE {
  ANYBIT_OK = 0,
  ANYBIT_INVALID_ARGUMENT = 1,  ///< bad argument: index out of range, impossible number, NULL
  ANYBIT_NOT_FOUND = 2,         ///< no such file, recipe, generator or backend
  ANYBIT_IO = 3,                ///< error of the operating system: permission, disk full, read error
  ANYBIT_OUT_OF_MEMORY = 4,     ///< memory allocation failed
  ANYBIT_MALFORMED = 5,         ///< the bytes cannot be parsed: truncated, not a model
  ANYBIT_INVALID_MODEL = 6,     ///< well-formed, but violates the ONNX specification
  ANYBIT_UNSUPPORTED = 7,       ///< valid, but not supported by this version
  ANYBIT_LIMIT_EXCEEDED = 8,    ///< larger than the limits allow, see anybit_set_limit()
  ANYBIT_UNSAFE_PATH = 9,       ///< external data outside the model's folder, or a plugin at a relative path
  ANYBIT_DATA_LOST = 10,        ///< the model file was modified or could not be read while it was in use
  ANYBIT_INVALID_STATE = 11,    ///< call out of order
  ANYBIT_CANCELLED = 12,        ///< the caller cancelled the operation
  ANYBIT_INVALID_DATA = 13      ///< NaN or infinity where finite values are required
} anybit_status;

/// Element types, with the numbers of ONNX's TensorProto.DataType. In buffers, elements of fewer than 8 bits
/// take one byte each.
typedef enum anybit_type ANYBIT_ENUM_TYPE {
  ANYBIT_TYPE_NONE = 0,  ///< not a tensor; as a quantized type: not quantized
  ANYBIT_TYPE_FLOAT32 = 1,
  ANYBIT_TYPE_UINT8 = 2,
  ANYBIT_TYPE_INT8 = 3,
  ANYBIT_TYPE_UINT16 = 4,
  ANYBIT_TYPE_INT16 = 5,
  ANYBIT_TYPE_INT32 = 6,
  ANYBIT_TYPE_INT64 = 7,
  ANYBIT_TYPE_STRING = 8,  ///< reported for models that have such inputs; buffers cannot hold strings
  ANYBIT_TYPE_BOOL = 9,
  ANYBIT_TYPE_FLOAT16 = 10,
  ANYBIT_TYPE_FLOAT64 = 11,
  ANYBIT_TYPE_UINT32 = 12,
  ANYBIT_TYPE_UINT64 = 13,
  ANYBIT_TYPE_COMPLEX64 = 14,
  ANYBIT_TYPE_COMPLEX128 = 15,
  ANYBIT_TYPE_BFLOAT16 = 16,
  ANYBIT_TYPE_FLOAT8E4M3FN = 17,
  ANYBIT_TYPE_FLOAT8E4M3FNUZ = 18,
  ANYBIT_TYPE_FLOAT8E5M2 = 19,
  ANYBIT_TYPE_FLOAT8E5M2FNUZ = 20,
  ANYBIT_TYPE_UINT4 = 21,
  ANYBIT_TYPE_INT4 = 22,
  ANYBIT_TYPE_FLOAT4E2M1 = 23,
  ANYBIT_TYPE_FLOAT8E8M0 = 24,
  ANYBIT_TYPE_UINT2 = 25,
  ANYBIT_TYPE_INT2 = 26
} anybit_type;

/// The largest rank of a tensor.
#define ANYBIT_MOST_DIMENSIONS 32

/// Description of an input, output or variable.
typedef struct anybit_tensor_info {
  const char* name;                      ///< valid as long as the session
  anybit_type type;                      ///< element type in the float model
  int32_t rank;                          ///< -1: unknown
  int64_t dims[ANYBIT_MOST_DIMENSIONS];  ///< -1: unknown; of an output after a run: its shape in that run
  /// After anybit_quantize(): the integer type that buffers may have instead of `type`, with real value =
  /// (quantized value - zero_point) * scale. ANYBIT_TYPE_NONE if the tensor is not quantized.
  anybit_type quantized_type;
  float scale;         ///< 0 if the tensor is not quantized
  int32_t zero_point;  ///< 0 if the tensor is not quantized
} anybit_tensor_info;

/// Which model a run executes.
typedef enum anybit_model_kind ANYBIT_ENUM_TYPE {
  ANYBIT_MODEL_FLOAT = 0,      ///< the loaded model
  ANYBIT_MODEL_QUANTIZED = 1,  ///< the result of anybit_quantize()
  ANYBIT_MODEL_GENERATED = 2   ///< the result of anybit_codegen(), run by a backend
} anybit_model_kind;

// ---- Lifetime

/// Returns the version of the library, "0.1.0". The text is static.
ANYBIT_API const char* anybit_version(void);

/// Creates a session and stores it in *session; on failure *session is NULL. The caller owns the session and
/// frees it with anybit_close_session().
ANYBIT_API anybit_status anybit_create_session(anybit_session** session);

/// Saves ranges and traces that are not saved yet, and frees the session. The session is freed even if saving
/// fails; the returned status then is that of the failure. NULL is allowed and does nothing.
ANYBIT_API anybit_status anybit_close_session(anybit_session* session);

/// Returns the message of the last call that failed, for people to read; an empty string if none did or if
/// `session` is NULL. The text is valid until the next call with this session.
ANYBIT_API const char* anybit_last_error(const anybit_session* session);

// ---- The model

/// Loads an ONNX file. The weights are memory-mapped: while the session lives, the file may be replaced (a
/// new file under the same name), but must not be overwritten in place.
ANYBIT_API anybit_status anybit_load_model_from_file(anybit_session* session, const char* path);

/// Loads an ONNX model from memory. The bytes are copied. Such a model has no folder: it cannot have external
/// data, and nothing is saved unless a path or a workspace is set.
ANYBIT_API anybit_status anybit_load_model_from_memory(anybit_session* session, const void* bytes,
                                                       size_t length);

/// Takes over the prepared model of another session. The two share memory, and results of anybit_quantize()
/// and anybit_codegen() are included; buffers and settings are not. No thread may use `other` during this
/// call.
ANYBIT_API anybit_status anybit_share_model(anybit_session* session, const anybit_session* other);

/// Sets the number of threads of one run: 1 to 1024, or 0 (the default) for one per core.
ANYBIT_API anybit_status anybit_set_threads(anybit_session* session, int32_t threads);

/// Limits on the size and cost of a model. A model that exceeds the size or memory limits fails with
/// ANYBIT_LIMIT_EXCEEDED. The WORK limits bound constant folding and inlining: whatever would exceed them is
/// not folded, and is computed in every run.
typedef enum anybit_limit ANYBIT_ENUM_TYPE {
  ANYBIT_LIMIT_RANK = 1,           ///< rank of a tensor
  ANYBIT_LIMIT_ELEMENTS = 2,       ///< elements of a tensor
  ANYBIT_LIMIT_NODES = 3,          ///< nodes in the file
  ANYBIT_LIMIT_DEPTH = 4,          ///< nesting of subgraphs
  ANYBIT_LIMIT_RECORDS = 5,        ///< protobuf messages and strings in the file
  ANYBIT_LIMIT_WORK_BYTES = 6,     ///< bytes computed before the first run, plus 32 per byte of constants
  ANYBIT_LIMIT_WORK_ELEMENTS = 7,  ///< elements read, written or multiplied before it, plus 256 per byte
  ANYBIT_LIMIT_WORK_NODES = 8,     ///< nodes that inlined functions expand to
  ANYBIT_LIMIT_MEMORY = 9          ///< bytes of activations and prepared weights; 0: no limit
} anybit_limit;

/// Changes a limit. The defaults are in anybit/limits.hpp; MEMORY is unlimited by default.
ANYBIT_API anybit_status anybit_set_limit(anybit_session* session, anybit_limit limit, int64_t value);

/// 1: calibration and quantization use float kernels that are bit-identical on every x86-64 CPU, so that the
/// same runs produce the same files everywhere. Only runs that gather ranges become slower. 0, the default:
/// the fastest kernels of this CPU. Ranges that are already gathered are kept.
ANYBIT_API anybit_status anybit_set_reproducible(anybit_session* session, int32_t reproducible);

/// Sets the folder for ranges, traces and the records of compiled models; it must exist. NULL, the default:
/// the model's folder. Empty: nothing is saved. File names derive from the model's: model.ranges.json for
/// model.onnx.
ANYBIT_API anybit_status anybit_set_workspace(anybit_session* session, const char* folder);

/// Makes an initializer of the model a variable, which can be read and written between runs, for example a
/// weight that is trained. Its value belongs to the session, not to the model: a session with variables does
/// not gather ranges, quantize or generate code. Sessions that share a model share its variables.
ANYBIT_API anybit_status anybit_add_variable(anybit_session* session, const char* name);

/// Makes the loaded model ready to run. A second call does nothing.
ANYBIT_API anybit_status anybit_prepare(anybit_session* session);

// ---- Inputs and outputs

/// Stores the number of model inputs in *count.
ANYBIT_API anybit_status anybit_input_count(const anybit_session* session, size_t* count);

/// Stores the number of model outputs in *count.
ANYBIT_API anybit_status anybit_output_count(const anybit_session* session, size_t* count);

/// Stores the description of an input in *info.
ANYBIT_API anybit_status anybit_input_info(const anybit_session* session, size_t index,
                                           anybit_tensor_info* info);

/// Stores the description of an output in *info.
ANYBIT_API anybit_status anybit_output_info(const anybit_session* session, size_t index,
                                            anybit_tensor_info* info);

/// Sets the shape of an input that has dynamic dimensions. Without it, a single dynamic dimension follows
/// from the length of the buffer; several are 1.
ANYBIT_API anybit_status anybit_set_input_shape(anybit_session* session, size_t index, int32_t rank,
                                                const int64_t* dims);

/// Sets the buffer that every run reads an input from: `length` bytes of the model's own type or, once the
/// model is quantized, of the quantized type. A buffer that is too short for the shape is an error; set the
/// shape of an input with dynamic dimensions before its buffer. The caller keeps ownership, and the buffer
/// must stay valid while it is set. NULL removes it.
ANYBIT_API anybit_status anybit_set_input(anybit_session* session, size_t index, anybit_type type,
                                          const void* buffer, size_t length);

/// Sets the buffer that every run writes an output to, at most `length` bytes. The caller keeps ownership. An
/// output without a buffer is discarded. A buffer that is too short for the shape in the model is an error.
/// The size of an output with dynamic dimensions is known only after a run: if its buffer is too small, the
/// run fails and writes nothing, and anybit_output_info() has the shape.
ANYBIT_API anybit_status anybit_set_output(anybit_session* session, size_t index, anybit_type type,
                                           void* buffer, size_t length);

// ---- Variables

/// Stores type and shape of a variable in *info.
ANYBIT_API anybit_status anybit_variable_info(const anybit_session* session, const char* name,
                                              anybit_tensor_info* info);

/// Copies the value of a variable to `buffer`. Type and length must match the variable exactly.
ANYBIT_API anybit_status anybit_get_variable(const anybit_session* session, const char* name,
                                             anybit_type type, void* buffer, size_t length);

/// Sets the value of a variable for later runs. `buffer` is copied; type and length must match exactly.
ANYBIT_API anybit_status anybit_set_variable(anybit_session* session, const char* name, anybit_type type,
                                             const void* buffer, size_t length);

// ---- Running

/// Runs the model in use: reads the input buffers and writes the output buffers.
ANYBIT_API anybit_status anybit_run(anybit_session* session);

/// Additional work of a run; a bit set.
typedef enum anybit_execute_config ANYBIT_ENUM_TYPE {
  /// Gather the ranges of all values. Such runs use the float model, also after anybit_quantize().
  ANYBIT_GATHER_RANGES = 1,
  /// Keep the time of every node of the last run, for anybit_profile(). Runs that also gather ranges do not
  /// fuse nodes.
  ANYBIT_PROFILE = 2,
  /// Keep the times of all runs and write them to model.trace.json, for chrome://tracing, when the config is
  /// reset or the session is closed.
  ANYBIT_TRACE = 4
} anybit_execute_config;

/// Enables these bits in addition to those already set.
ANYBIT_API anybit_status anybit_set_execute_config(anybit_session* session, uint32_t config);

/// Clears all bits, and saves ranges and traces that are not saved yet.
ANYBIT_API anybit_status anybit_reset_execute_config(anybit_session* session);

/// Stores the times of the last run, node by node, in *json. The run must have had ANYBIT_PROFILE and have
/// been executed by anybit, not by a backend. The text is valid until the next run.
ANYBIT_API anybit_status anybit_profile(anybit_session* session, const char** json);

// ---- Ranges of activations, gathered while the model runs. They are bound to the content of the model
// (SHA-256): ranges of another model, or of an earlier version of this one, are not used. They are stored in
// model.ranges.json in the workspace, where sessions add to them and find them after a restart. save_ranges,
// reset_execute_config, quantize and close_session save them.

/// Stores the number of runs that the ranges cover in *runs: those of this session and saved ones of earlier
/// sessions.
ANYBIT_API anybit_status anybit_ranges_runs(anybit_session* session, int64_t* runs);

/// Adds the ranges of this session to the file.
ANYBIT_API anybit_status anybit_save_ranges(anybit_session* session);

/// Discards all ranges and deletes the file.
ANYBIT_API anybit_status anybit_reset_ranges(anybit_session* session);

// ---- Quantization

/// The quantization types of the C API; anybit_set_quantization_recipe() has all others.
typedef enum anybit_quantization_type ANYBIT_ENUM_TYPE {
  ANYBIT_QUANTIZE_U8_ASYM = 1,    ///< weights and activations, recipe uint8; needs ranges
  ANYBIT_QUANTIZE_I8_ASYM = 2,    ///< weights and activations, recipe int8; needs ranges
  ANYBIT_QUANTIZE_I16_SYM = 3,    ///< weights and activations, recipe int16; needs ranges
  ANYBIT_QUANTIZE_WO_I8_SYM = 4,  ///< weights only, recipe w8; activations stay float32
  ANYBIT_QUANTIZE_WO_I16_SYM = 5  ///< weights only, recipe w16; activations stay float32
} anybit_quantization_type;

/// Selects how anybit_quantize() quantizes. Replaces a type or recipe set before.
ANYBIT_API anybit_status anybit_set_quantization_type(anybit_session* session, anybit_quantization_type type);

/// Selects it by a recipe: the name of a preset ("w4") or the text of a recipe in YAML (docs/recipes.md), as
/// `anybit quantize --recipe` takes them.
ANYBIT_API anybit_status anybit_set_quantization_recipe(anybit_session* session, const char* recipe);

/// Sets the path that anybit_quantize() writes to. NULL, the default: model.q.onnx beside model.onnx.
ANYBIT_API anybit_status anybit_set_quantized_model_path(anybit_session* session, const char* path);

/// Quantizes the float model, with the gathered ranges if the recipe needs them, and writes the file
/// atomically. The next run uses the quantized model. Buffers stay valid: the quantized model still accepts
/// and returns float32.
ANYBIT_API anybit_status anybit_quantize(anybit_session* session);

/// Stores the path of the quantized model in *path; NULL if there is none. Valid until the next call.
ANYBIT_API anybit_status anybit_quantized_model_path(const anybit_session* session, const char** path);

// ---- Code generation

/// Sets a folder to search for generators before that of the installation. It must be an absolute path; NULL:
/// none.
ANYBIT_API anybit_status anybit_set_plugin_directory(anybit_session* session, const char* folder);

/// Sets the path that anybit_codegen() writes to. NULL, the default: the path of the model in use, with the
/// generator's extension.
ANYBIT_API anybit_status anybit_set_codegen_model_path(anybit_session* session, const char* path);

/// Generates code for the model in use (float or quantized) with the generator `generator`, "NAME-gen" for
/// libNAME-gen.so. If the generator has a backend, later runs use it; otherwise the session continues as
/// before. Code is generated for one shape of each input: while another shape is set, anybit itself runs the
/// model.
ANYBIT_API anybit_status anybit_codegen(anybit_session* session, const char* generator,
                                        anybit_preference preference);

/// Stores the path of the generated file in *path; NULL if there is none. Valid until the next call.
ANYBIT_API anybit_status anybit_codegen_model_path(const anybit_session* session, const char** path);

/// Sets the backends that may run models, separated by ';'. "cpu" is anybit itself; others are named by
/// their generators, by default "NAME" for that of NAME-gen. Empty: all. NULL, the default: those in the
/// environment variable BACKENDS, or all if it is not set. A run fails if none of them can run the model.
/// Runs that gather ranges always use anybit itself.
ANYBIT_API anybit_status anybit_set_available_backends(anybit_session* session, const char* names);

// ---- Automatic compilation

/// Runs the model, and quantizes and compiles it after enough runs. The first runs use the float model and
/// gather ranges. Once the ranges cover `threshold` runs, including those of earlier sessions, the call
/// quantizes (by the type or recipe that is set, else as I8_ASYM), generates code if `generator` is not NULL,
/// and continues with the result. The result is recorded in model.compiled.json in the workspace and reused
/// after a restart if model, recipe, generator and files are unchanged; otherwise it is made again. If
/// quantization or code generation fails, the call fails, but the outputs of the run are valid, and the next
/// call tries again.
ANYBIT_API anybit_status anybit_run_with_auto_compilation(anybit_session* session, int64_t threshold,
                                                          const char* generator,
                                                          anybit_preference preference);

/// Stores which model the next run executes in *kind.
ANYBIT_API anybit_status anybit_model_in_use(const anybit_session* session, anybit_model_kind* kind);

#ifdef __cplusplus
}  // extern "C"
#endif
