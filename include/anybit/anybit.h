// anybit on a device, in C99: a session loads a float model, runs it, gathers the ranges of its values while
// it runs, quantizes it in place, goes on with the quantized one, and turns it into code for a backend.
//
//   anybit_session* session = NULL;
//   anybit_create_session(&session);
//   anybit_load_model_from_file(session, "model.onnx");
//   anybit_prepare(session);
//   anybit_set_input(session, 0, ANYBIT_TYPE_FLOAT32, input, sizeof input);
//   anybit_set_output(session, 0, ANYBIT_TYPE_FLOAT32, output, sizeof output);
//   anybit_set_execute_config(session, ANYBIT_GATHER_RANGES);
//   for (int i = 0; i < 100; ++i) { … anybit_run(session); }
//   anybit_set_quantization_type(session, ANYBIT_QUANTIZE_U8_ASYM);
//   anybit_quantize(session);                   // model.q.onnx is written, and is in use from here on
//   anybit_reset_execute_config(session);
//   anybit_run(session);                        // the same buffers
//   anybit_close_session(session);
//
// Every function that can fail returns an anybit_status. A call that fails changes nothing, unless it says so
// below; anybit_last_error tells what was wrong, where, and what would be right.
//
// States. A session is created, loaded, prepared, and then it has run. `·` is allowed, `-` answers
// ANYBIT_INVALID_STATE and changes nothing; a word is the state after a call that succeeded.
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
//
// Threads. Different sessions may be used by different threads at the same time, also when they share a
// model. One session is used by one thread at a time.
//
// ABI. Until version 1.0 the library's minor version is raised when something here changes. From then on:
// numbers keep their meaning, structures their layout, and functions are added, never changed;
// docs/device.md.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "anybit/export.hpp"
#include "anybit/preference.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Words

// A model and all that belongs to running it.
typedef struct anybit_session anybit_session;

// What became of a call. The numbers are those of anybit::Code (anybit/result.hpp); new ones may be added.
typedef enum anybit_status ANYBIT_ENUM_TYPE {
  ANYBIT_OK = 0,
  ANYBIT_INVALID_ARGUMENT = 1,  // the call was wrong: a bad index, an impossible number, NULL
  ANYBIT_NOT_FOUND = 2,         // no such file, recipe, generator, backend
  ANYBIT_IO = 3,                // the operating system refused: permission, disk full, read error
  ANYBIT_OUT_OF_MEMORY = 4,     // there is not enough memory
  ANYBIT_MALFORMED = 5,         // the bytes are not what they claim to be: truncated, not a model
  ANYBIT_INVALID_MODEL = 6,     // well-formed, but breaks ONNX's rules
  ANYBIT_UNSUPPORTED = 7,       // valid, but beyond what this version does
  ANYBIT_LIMIT_EXCEEDED = 8,    // larger than what is accepted from a file
  ANYBIT_UNSAFE_PATH = 9,       // data outside the model's folder, or a plugin at a relative path
  ANYBIT_DATA_LOST = 10,        // the model's file was changed, shrank or failed while it was in use
  ANYBIT_INVALID_STATE = 11,    // a call out of order
  ANYBIT_CANCELLED = 12,        // somebody asked for the work to end
  ANYBIT_INVALID_DATA = 13      // values that cannot be meant: NaN or infinity where ranges are gathered
} anybit_status;

// Types of elements, under ONNX's numbers. Elements of less than 8 bits take a byte each.
typedef enum anybit_type ANYBIT_ENUM_TYPE {
  ANYBIT_TYPE_NONE = 0,  // not a tensor; or, of a quantized type: there is none
  ANYBIT_TYPE_FLOAT32 = 1,
  ANYBIT_TYPE_UINT8 = 2,
  ANYBIT_TYPE_INT8 = 3,
  ANYBIT_TYPE_UINT16 = 4,
  ANYBIT_TYPE_INT16 = 5,
  ANYBIT_TYPE_INT32 = 6,
  ANYBIT_TYPE_INT64 = 7,
  ANYBIT_TYPE_STRING = 8,  // of a model that has such inputs; there are no buffers of it
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

// The most dimensions that a tensor has.
#define ANYBIT_MOST_DIMENSIONS 32

// What is known of an input or output.
typedef struct anybit_tensor_info {
  const char* name;                      // lives as long as the session
  anybit_type type;                      // of the model's own values
  int32_t rank;                          // -1: any
  int64_t dims[ANYBIT_MOST_DIMENSIONS];  // -1: any; of an output, after a run, what the run made
  // Once the model is quantized: the type of buffer that is taken beside `type`, for codes.
  // value = (code - zero_point) * scale. ANYBIT_TYPE_NONE: this one is not quantized.
  anybit_type quantized_type;
  float scale;         // 0 if it is not quantized
  int32_t zero_point;  // 0 if it is not quantized
} anybit_tensor_info;

// Which model a run goes through.
typedef enum anybit_model_kind ANYBIT_ENUM_TYPE {
  ANYBIT_MODEL_FLOAT = 0,      // the one that was loaded
  ANYBIT_MODEL_QUANTIZED = 1,  // what quantize made of it
  ANYBIT_MODEL_GENERATED = 2   // what codegen made of one of these, run by a backend
} anybit_model_kind;

// ---- Life

// The version of the library: "0.1.0".
ANYBIT_API const char* anybit_version(void);

// A new session, in *session; NULL there if it fails.
ANYBIT_API anybit_status anybit_create_session(anybit_session** session);

// Saves ranges that are not saved yet, and frees everything. The session is gone even if saving fails, which
// the status tells. NULL is fine.
ANYBIT_API anybit_status anybit_close_session(anybit_session* session);

// What was wrong with the last call that failed, as text for a person; empty if none did. It lives until the
// next call with this session. Of NULL: an empty text.
ANYBIT_API const char* anybit_last_error(const anybit_session* session);

// ---- The model

// An ONNX file. Its weights stay on disk until they are used: the file may be replaced (by a new one under
// its name) while the session lives, but not overwritten.
ANYBIT_API anybit_status anybit_load_model_from_file(anybit_session* session, const char* path);

// The bytes of an ONNX file, which are copied. Such a model has no folder: no external data, and nothing is
// saved unless a path or a workspace is set.
ANYBIT_API anybit_status anybit_load_model_from_memory(anybit_session* session, const void* bytes,
                                                       size_t length);

// The model that another session has prepared, without loading and preparing it once more; memory is shared.
// What the other did with it (quantize, codegen) comes along; buffers and settings do not. Nobody may use the
// other session during this call.
ANYBIT_API anybit_status anybit_share_model(anybit_session* session, const anybit_session* other);

// Threads for one run: 1 to 1024, or 0 for one per core, which is the default.
ANYBIT_API anybit_status anybit_set_threads(anybit_session* session, int32_t threads);

// What a model may cost. One that is larger, or takes more memory, is ANYBIT_LIMIT_EXCEEDED; constants that
// would take more to compute before the model runs are left for its runs.
typedef enum anybit_limit ANYBIT_ENUM_TYPE {
  ANYBIT_LIMIT_RANK = 1,           // dimensions of one tensor
  ANYBIT_LIMIT_ELEMENTS = 2,       // elements of one tensor
  ANYBIT_LIMIT_NODES = 3,          // nodes in the whole file
  ANYBIT_LIMIT_DEPTH = 4,          // graphs within graphs
  ANYBIT_LIMIT_RECORDS = 5,        // messages and strings in the file
  ANYBIT_LIMIT_WORK_BYTES = 6,     // made before the model runs, beside 32 for each byte of its constants
  ANYBIT_LIMIT_WORK_ELEMENTS = 7,  // looked at and multiplied before it runs, beside 256 for each byte
  ANYBIT_LIMIT_WORK_NODES = 8,     // that calls of the model's functions stand for
  ANYBIT_LIMIT_MEMORY = 9          // bytes for values and prepared weights of a model; 0: no limit
} anybit_limit;

// Another limit than the default, which only MEMORY does not have (anybit/limits.hpp).
ANYBIT_API anybit_status anybit_set_limit(anybit_session* session, anybit_limit limit, int64_t value);

// 1: ranges are gathered, and the model is quantized, by float kernels that give the same bits on every
// x86-64 CPU. The same runs then make the same files everywhere; runs that gather take longer, others do not.
// 0, the default: by the kernels of this CPU. Ranges that were gathered before stay as they are.
ANYBIT_API anybit_status anybit_set_reproducible(anybit_session* session, int32_t reproducible);

// Where ranges, traces and notes about compiled models are kept: a folder that exists. NULL: beside the
// model, which is the default. Empty: nowhere, they end with the session. Their names are the model's, with
// another ending: model.ranges.json for model.onnx.
ANYBIT_API anybit_status anybit_set_workspace(anybit_session* session, const char* folder);

// An initializer of the model that is to be read and written between runs: a weight that is trained. Its
// value is the session's, and no part of the model: a session with variables does not gather ranges, quantize
// or generate code. Sessions that share a model share its variables.
ANYBIT_API anybit_status anybit_add_variable(anybit_session* session, const char* name);

// Makes the loaded model ready to run. Done already: nothing happens.
ANYBIT_API anybit_status anybit_prepare(anybit_session* session);

// ---- Inputs and outputs

// How many inputs the model has, in *count.
ANYBIT_API anybit_status anybit_input_count(const anybit_session* session, size_t* count);

// How many outputs the model has, in *count.
ANYBIT_API anybit_status anybit_output_count(const anybit_session* session, size_t* count);

// What is known of an input, in *info.
ANYBIT_API anybit_status anybit_input_info(const anybit_session* session, size_t index,
                                           anybit_tensor_info* info);

// What is known of an output, in *info.
ANYBIT_API anybit_status anybit_output_info(const anybit_session* session, size_t index,
                                            anybit_tensor_info* info);

// The shape of an input whose dimensions the model leaves open. Without it, open dimensions are 1; a single
// one follows from the length of the buffer.
ANYBIT_API anybit_status anybit_set_input_shape(anybit_session* session, size_t index, int32_t rank,
                                                const int64_t* dims);

// Where an input is read from, at every run: `length` bytes, of the model's own type or, once it is
// quantized, of the quantized type. The buffer is the caller's; NULL takes it away again.
ANYBIT_API anybit_status anybit_set_input(anybit_session* session, size_t index, anybit_type type,
                                          const void* buffer, size_t length);

// Where an output is written to, at every run: at most `length` bytes. An output without a buffer is dropped.
// Buffers that are too small are an error of the run, and nothing is written; the shape can be asked for
// then.
ANYBIT_API anybit_status anybit_set_output(anybit_session* session, size_t index, anybit_type type,
                                           void* buffer, size_t length);

// ---- Variables

// Type and shape of a variable, in *info.
ANYBIT_API anybit_status anybit_variable_info(const anybit_session* session, const char* name,
                                              anybit_tensor_info* info);

// Copies the value of a variable into the buffer, which has its type and its length.
ANYBIT_API anybit_status anybit_get_variable(const anybit_session* session, const char* name,
                                             anybit_type type, void* buffer, size_t length);

// The other way: later runs have this value.
ANYBIT_API anybit_status anybit_set_variable(anybit_session* session, const char* name, anybit_type type,
                                             const void* buffer, size_t length);

// ---- Running

// Reads the inputs, runs the model in use, writes the outputs.
ANYBIT_API anybit_status anybit_run(anybit_session* session);

// What else runs do; may be joined by |.
typedef enum anybit_execute_config ANYBIT_ENUM_TYPE {
  // Gather the ranges of all values. Such runs go through the float model, also after quantize.
  ANYBIT_GATHER_RANGES = 1,
  // Keep the time of every node of the last run, for anybit_profile. Where ranges are gathered, nodes are
  // those that can be looked at, which are not fused.
  ANYBIT_PROFILE = 2,
  // Keep the times of all runs and write them to model.trace.json, for chrome://tracing, when the config
  // is reset or the session is closed.
  ANYBIT_TRACE = 4
} anybit_execute_config;

// Turns these on, beside those that are on.
ANYBIT_API anybit_status anybit_set_execute_config(anybit_session* session, uint32_t config);

// Turns all of them off. Ranges and traces that are not saved yet are saved.
ANYBIT_API anybit_status anybit_reset_execute_config(anybit_session* session);

// The times of the last run's nodes, in *json; it must have been run with ANYBIT_PROFILE by anybit itself,
// not by a backend. The text lives until the next run.
ANYBIT_API anybit_status anybit_profile(anybit_session* session, const char** json);

// ---- Ranges: what values the model had while it ran. They belong to the content of the model; those of
// another model, or of this one before it was changed, are not used. They are kept in model.ranges.json, in
// the workspace: what is there is added to, and found again after a restart. They are saved by save_ranges,
// reset_execute_config, quantize and close_session.

// How many runs the ranges know, in *runs: of this session, and of earlier ones that were saved.
ANYBIT_API anybit_status anybit_ranges_runs(anybit_session* session, int64_t* runs);

// Adds what this session gathered to the file.
ANYBIT_API anybit_status anybit_save_ranges(anybit_session* session);

// Forgets all ranges, and removes the file.
ANYBIT_API anybit_status anybit_reset_ranges(anybit_session* session);

// ---- Quantization

typedef enum anybit_quantization_type ANYBIT_ENUM_TYPE {
  // Weights and activations; ranges are needed.
  ANYBIT_QUANTIZE_U8_ASYM = 1,  // recipe uint8
  ANYBIT_QUANTIZE_I8_ASYM = 2,  // recipe int8
  ANYBIT_QUANTIZE_I16_SYM = 3,  // recipe int16
  // Weights only; activations stay in float32.
  ANYBIT_QUANTIZE_WO_I8_SYM = 4,  // recipe w8
  ANYBIT_QUANTIZE_WO_I16_SYM = 5  // recipe w16
} anybit_quantization_type;

// What quantize makes. Takes the place of a type or recipe set before.
ANYBIT_API anybit_status anybit_set_quantization_type(anybit_session* session, anybit_quantization_type type);

// The same by a recipe: the name of a preset ("w4"), or the text of a recipe in YAML (docs/recipes.md). All
// that `anybit quantize --recipe` can do.
ANYBIT_API anybit_status anybit_set_quantization_recipe(anybit_session* session, const char* recipe);

// Where quantize writes to. NULL, the default: model.q.onnx beside model.onnx.
ANYBIT_API anybit_status anybit_set_quantized_model_path(anybit_session* session, const char* path);

// Quantizes the float model, from the ranges if the recipe needs them; writes the file, which appears whole
// or not at all; from the next run on the quantized model is in use. Buffers stay as they are: float32 is
// still taken and given.
ANYBIT_API anybit_status anybit_quantize(anybit_session* session);

// The file of the quantized model, in *path; NULL there if there is none. It lives until the next call.
ANYBIT_API anybit_status anybit_quantized_model_path(const anybit_session* session, const char** path);

// ---- Code generation

// A folder to look for generators in before that of the installation: an absolute path. NULL: none.
ANYBIT_API anybit_status anybit_set_plugin_directory(anybit_session* session, const char* folder);

// Where codegen writes to. NULL, the default: the model in use, with the generator's extension.
ANYBIT_API anybit_status anybit_set_codegen_model_path(anybit_session* session, const char* path);

// Turns the model in use (float or quantized) into a file, by the generator libNAME-gen.so: `generator` is
// "NAME-gen". If the generator also has a backend, that runs from now on; otherwise the session goes on as it
// was. Code is made for one shape of each input: while another is set, anybit itself runs the model.
ANYBIT_API anybit_status anybit_codegen(anybit_session* session, const char* generator,
                                        anybit_preference preference);

// The file that codegen made, in *path; NULL there if there is none. It lives until the next call.
ANYBIT_API anybit_status anybit_codegen_model_path(const anybit_session* session, const char** path);

// Who may run models: names with ';' between. "cpu" is anybit itself, "NAME" the backend of NAME-gen. Empty:
// everybody. NULL, the default: those that the environment's variable BACKENDS names, else everybody. Runs
// are refused if nobody of these can run the model; those that gather ranges are anybit's own in any case.
ANYBIT_API anybit_status anybit_set_available_backends(anybit_session* session, const char* names);

// ---- All by itself

// A run that leads to the fast model by itself. It runs the float model and gathers ranges; once these know
// `threshold` runs, those of earlier sessions included, it quantizes (by the type or recipe that is set; else
// as I8_ASYM), generates code if `generator` is not NULL, and goes on with the result. What was made is noted
// in model.compiled.json in the workspace and found again after a restart, as long as model, recipe,
// generator and files are still the same; else it is made again. If quantize or codegen fails, so does the
// call; but the outputs of the run are there, and the next call tries again.
ANYBIT_API anybit_status anybit_run_with_auto_compilation(anybit_session* session, int64_t threshold,
                                                          const char* generator,
                                                          anybit_preference preference);

// Which model the next run goes through, in *kind.
ANYBIT_API anybit_status anybit_model_in_use(const anybit_session* session, anybit_model_kind* kind);

#ifdef __cplusplus
}  // extern "C"
#endif
