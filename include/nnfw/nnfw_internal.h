/// @file
/// Functions that onert's own tools use. See nnfw.h.
#pragma once

#include "nnfw.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Sets NUM_THREADS, the number of threads of one run; other keys are an error.
NNFW_STATUS nnfw_set_config(nnfw_session* session, const char* key, const char* value);
/// Copies the value of a key to `value`, of `value_size` bytes.
NNFW_STATUS nnfw_get_config(nnfw_session* session, const char* key, char* value, size_t value_size);

/// Loads an ONNX model from memory. The bytes are copied.
NNFW_STATUS nnfw_load_circle_from_buffer(nnfw_session* session, uint8_t* buffer, size_t size);

/// Stores the shape of an output of the last run in *out_info, and its elements in *out_buffer, which is
/// valid until the next run. Needs NNFW_ENABLE_INTERNAL_OUTPUT_ALLOC.
NNFW_STATUS nnfw_get_output(nnfw_session* session, uint32_t index, nnfw_tensorinfo* out_info,
                            const void** out_buffer);

/// NNFW_STATUS_ERROR: anybit does not train.
NNFW_STATUS nnfw_train_export_circleplus(nnfw_session* session, const char* file_path);

#ifdef __cplusplus
}  // extern "C"
#endif
