/// @file
/// The C API of onert, over a session of anybit: programs written for onert compile with this header, link
/// libnnfw-anybit.so and run ONNX models. Names, values and signatures are onert's; docs/from-onert.md says
/// where behaviour differs. New programs better use anybit/anybit.h, which can do more.
///
/// Every function returns an NNFW_STATUS. What anybit cannot do returns NNFW_STATUS_ERROR, never success; the
/// reason is in nnfw_get_last_error_message(). A session that is NULL is NNFW_STATUS_UNEXPECTED_NULL.
///
/// **Threads.** Different sessions may be used by different threads at the same time. One session must be
/// used by one thread at a time.

// States. `·`: the call is allowed. `-`: it returns NNFW_STATUS_INVALID_STATE and changes nothing. `E`, `D`:
// it returns NNFW_STATUS_ERROR or NNFW_STATUS_DEPRECATED_API. A word: the state after a successful call.
// nnfw_quantize() and nnfw_codegen() replace the model, which may then be prepared or run at once.
//
//   call                               created  loaded   replaced prepared ran      running
//   close_session                      ·        ·        ·        ·        ·        ·
//   get_last_error_message             ·        ·        ·        ·        ·        ·
//   query_info_u32                     ·        ·        ·        ·        ·        ·
//   load_model_from_file               loaded   -        -        -        -        -
//   load_model_from_modelfile          loaded   -        -        -        -        -
//   load_circle_from_buffer            loaded   -        -        -        -        -
//   set_workspace                      ·        -        -        -        -        -
//   set_config                         -        ·        -        -        -        -
//   get_config                         -        ·        ·        -        -        -
//   set_prepare_config                 -        ·        ·        -        -        -
//   reset_prepare_config               -        ·        ·        -        -        -
//   set_input_layout                   -        ·        ·        ·        ·        -
//   set_output_layout                  -        ·        ·        ·        ·        -
//   set_input_type                     -        ·        ·        -        -        -
//   set_output_type                    -        ·        ·        -        -        -
//   set_available_backends             -        ·        ·        ·        ·        -
//   set_available_backend              -        ·        ·        ·        ·        -
//   prepare                            -        prepared prepared -        -        -
//   input_size                         -        ·        ·        ·        ·        ·
//   output_size                        -        ·        ·        ·        ·        ·
//   input_tensorinfo                   -        ·        ·        ·        ·        -
//   output_tensorinfo                  -        ·        ·        ·        ·        -
//   input_tensorindex                  -        ·        ·        ·        ·        -
//   output_tensorindex                 -        ·        ·        ·        ·        -
//   set_input_tensorinfo               -        ·        ·        ·        ·        -
//   set_input                          -        -        ·        ·        ·        -
//   set_output                         -        -        ·        ·        ·        -
//   run                                -        -        ran      ran      ran      -
//   run_async                          -        -        running  running  running  -
//   await                              E        E        E        E        E        ran
//   get_output                         -        -        -        -        ·        -
//   set_execute_config                 -        -        ·        ·        ·        -
//   reset_execute_config               -        -        ·        ·        ·        -
//   set_quantization_type              -        ·        ·        ·        ·        -
//   set_quantized_model_path           -        ·        ·        ·        ·        -
//   quantize                           -        replaced replaced replaced replaced -
//   set_codegen_model_path             -        ·        ·        ·        ·        -
//   codegen                            -        replaced replaced replaced replaced -
//   set_odc_param_minmax_records_count -        ·        ·        ·        ·        -
//   odc_delete_minmax_file             -        ·        ·        ·        ·        -
//   run_with_auto_compilation          -        -        ran      ran      ran      -
//   apply_tensorinfo                   D        D        D        D        D        D
//   set_op_backend                     D        D        D        D        D        D
//   prepare_pipeline                   D        D        D        D        D        D
//   push_pipeline_input                D        D        D        D        D        D
//   pop_pipeline_output                D        D        D        D        D        D
//   register_custom_op_info            E        E        E        E        E        E
//   set_backends_per_operation         E        E        E        E        E        E
//   configure_signature                E        E        E        E        E        E
//   set_signature_run                  E        E        E        E        E        E
//   train                              E        E        E        E        E        E
//   train_get_traininfo                E        E        E        E        E        E
//   train_set_traininfo                E        E        E        E        E        E
//   train_prepare                      E        E        E        E        E        E
//   train_input_tensorinfo             E        E        E        E        E        E
//   train_expected_tensorinfo          E        E        E        E        E        E
//   train_set_input                    E        E        E        E        E        E
//   train_set_expected                 E        E        E        E        E        E
//   train_set_output                   E        E        E        E        E        E
//   train_get_loss                     E        E        E        E        E        E
//   train_export_circle                E        E        E        E        E        E
//   train_export_circleplus            E        E        E        E        E        E
//   train_import_checkpoint            E        E        E        E        E        E
//   train_export_checkpoint            E        E        E        E        E        E
#pragma once

#include <stddef.h>
#include <stdint.h>

// Gives enumerations a fixed underlying type in C++. A C program may pass any number for an enumeration;
// without a fixed type, a number outside of its values would be undefined behavior in C++.
#ifdef __cplusplus
#define NNFW_ENUM_TYPE : int
extern "C" {
#else
#define NNFW_ENUM_TYPE
#endif

// ---- Types

/// A model together with everything that running it takes.
typedef struct nnfw_session nnfw_session;

/// Element types. The QUANT types are integers that stand for real numbers.
typedef enum NNFW_ENUM_TYPE {
  NNFW_TYPE_TENSOR_FLOAT32 = 0,
  NNFW_TYPE_TENSOR_INT32 = 1,
  NNFW_TYPE_TENSOR_QUANT8_ASYMM = 2,  ///< uint8
  NNFW_TYPE_TENSOR_BOOL = 3,
  NNFW_TYPE_TENSOR_UINT8 = 4,
  NNFW_TYPE_TENSOR_INT64 = 5,
  NNFW_TYPE_TENSOR_QUANT8_ASYMM_SIGNED = 6,  ///< int8
  NNFW_TYPE_TENSOR_QUANT16_SYMM_SIGNED = 7   ///< int16
} NNFW_TYPE;

/// The result of a call.
typedef enum NNFW_ENUM_TYPE {
  NNFW_STATUS_NO_ERROR = 0,
  NNFW_STATUS_ERROR = 1,
  NNFW_STATUS_UNEXPECTED_NULL = 2,           ///< a pointer is NULL
  NNFW_STATUS_INVALID_STATE = 3,             ///< call out of order
  NNFW_STATUS_OUT_OF_MEMORY = 4,             ///< memory allocation failed
  NNFW_STATUS_INSUFFICIENT_OUTPUT_SIZE = 5,  ///< a buffer for results is too small
  NNFW_STATUS_DEPRECATED_API = 6             ///< onert has withdrawn the function
} NNFW_STATUS;

/// The order of dimensions in a buffer.
typedef enum NNFW_ENUM_TYPE {
  NNFW_LAYOUT_NONE = 0,  ///< the model's own
  NNFW_LAYOUT_CHANNELS_LAST = 1,
  NNFW_LAYOUT_CHANNELS_FIRST = 2
} NNFW_LAYOUT;

/// What nnfw_query_info_u32() answers.
typedef enum NNFW_ENUM_TYPE {
  NNFW_INFO_ID_VERSION = 0  ///< NNFW_VERSION of the library
} NNFW_INFO_ID;

/// The largest rank of a tensor.
#define NNFW_MAX_RANK (6)

/// Type and shape of an input or output.
typedef struct nnfw_tensorinfo {
  NNFW_TYPE dtype;
  int32_t rank;
  int32_t dims[NNFW_MAX_RANK];  ///< -1: unknown; of an output after a run: its shape in that run
} nnfw_tensorinfo;

// ---- Lifetime

/// Creates a session and stores it in *session; on failure *session is NULL.
NNFW_STATUS nnfw_create_session(nnfw_session** session);

/// Waits for an asynchronous run, saves ranges and traces that are not saved yet, and frees the session,
/// which it does also if saving fails. NULL is allowed and does nothing.
NNFW_STATUS nnfw_close_session(nnfw_session* session);

/// Copies the message of the last call that failed to `buffer`, of `length` bytes.
NNFW_STATUS nnfw_get_last_error_message(nnfw_session* session, char* buffer, size_t length);

/// Stores a number that describes the library in *val. The session may be NULL.
NNFW_STATUS nnfw_query_info_u32(nnfw_session* session, NNFW_INFO_ID id, uint32_t* val);

// ---- The model

/// Loads an ONNX file, or the ONNX model of an nnpackage folder (metadata/MANIFEST).
NNFW_STATUS nnfw_load_model_from_file(nnfw_session* session, const char* path);

/// The same for a file only; of older versions of onert.
NNFW_STATUS nnfw_load_model_from_modelfile(nnfw_session* session, const char* path);

/// Sets the folder for ranges and traces; it must exist. The default is the model's folder.
NNFW_STATUS nnfw_set_workspace(nnfw_session* session, const char* dir);

/// Sets the backends that may run the model, separated by ';': `cpu` is anybit, others have the names that
/// code generators give theirs.
NNFW_STATUS nnfw_set_available_backends(nnfw_session* session, const char* backends);

/// The same, as onert's guide spells it.
NNFW_STATUS nnfw_set_available_backend(nnfw_session* session, const char* backend);

/// Makes the model ready to run.
NNFW_STATUS nnfw_prepare(nnfw_session* session);

// ---- Inputs and outputs

/// Stores the number of inputs in *number.
NNFW_STATUS nnfw_input_size(nnfw_session* session, uint32_t* number);
/// Stores the number of outputs in *number.
NNFW_STATUS nnfw_output_size(nnfw_session* session, uint32_t* number);

/// Stores type and shape of an input in *tensor_info.
NNFW_STATUS nnfw_input_tensorinfo(nnfw_session* session, uint32_t index, nnfw_tensorinfo* tensor_info);
/// Stores type and shape of an output in *tensor_info.
NNFW_STATUS nnfw_output_tensorinfo(nnfw_session* session, uint32_t index, nnfw_tensorinfo* tensor_info);

/// Sets the shape of an input that has unknown dimensions.
NNFW_STATUS nnfw_set_input_tensorinfo(nnfw_session* session, uint32_t index,
                                      const nnfw_tensorinfo* tensor_info);

/// Sets the buffer that every run reads an input from: `length` bytes of the model's own type or, once the
/// model is quantized, of the quantized type. NULL with the length 0 removes it.
NNFW_STATUS nnfw_set_input(nnfw_session* session, uint32_t index, NNFW_TYPE type, const void* buffer,
                           size_t length);

/// Sets the buffer that every run writes an output to. An output without a buffer is discarded.
NNFW_STATUS nnfw_set_output(nnfw_session* session, uint32_t index, NNFW_TYPE type, void* buffer,
                            size_t length);

/// Buffers have the layout of the model: NNFW_LAYOUT_NONE succeeds, others are an error.
NNFW_STATUS nnfw_set_input_layout(nnfw_session* session, uint32_t index, NNFW_LAYOUT layout);
/// The same for an output.
NNFW_STATUS nnfw_set_output_layout(nnfw_session* session, uint32_t index, NNFW_LAYOUT layout);

// ---- Running

/// Runs the model in use: reads the input buffers and writes the output buffers.
NNFW_STATUS nnfw_run(nnfw_session* session);

/// The same in a thread of its own. The buffers must not be used until nnfw_await() returns.
NNFW_STATUS nnfw_run_async(nnfw_session* session);

/// Waits for the end of the asynchronous run and returns its status.
NNFW_STATUS nnfw_await(nnfw_session* session);

// ---- Withdrawn by onert: NNFW_STATUS_DEPRECATED_API

NNFW_STATUS nnfw_apply_tensorinfo(nnfw_session* session, uint32_t index, nnfw_tensorinfo tensor_info);
NNFW_STATUS nnfw_set_op_backend(nnfw_session* session, const char* op, const char* backend);

#ifdef __cplusplus
}  // extern "C"
#endif

#include "nnfw_experimental.h"
