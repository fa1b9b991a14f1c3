/// @file
/// On-device compilation and the rest of onert's C API; nnfw.h includes it. See there.
#pragma once

#include <stdbool.h>

#include "nnfw.h"

// onert's examples write nullptr in C, too.
#if !defined(__cplusplus) && !defined(nullptr) && (!defined(__STDC_VERSION__) || __STDC_VERSION__ < 202000L)
#define nullptr NULL
#endif

#ifdef __cplusplus
extern "C" {
#endif

// ---- Quantization

/// How nnfw_quantize() quantizes.
typedef enum NNFW_ENUM_TYPE {
  NNFW_QUANTIZE_TYPE_NOT_SET = 0,
  NNFW_QUANTIZE_TYPE_U8_ASYM = 1,    ///< weights and activations; needs ranges
  NNFW_QUANTIZE_TYPE_I16_SYM = 2,    ///< weights and activations; needs ranges
  NNFW_QUANTIZE_TYPE_WO_I8_SYM = 3,  ///< weights only; activations stay float32
  NNFW_QUANTIZE_TYPE_WO_I16_SYM = 4  ///< weights only; activations stay float32
} NNFW_QUANTIZE_TYPE;

NNFW_STATUS nnfw_set_quantization_type(nnfw_session* session, NNFW_QUANTIZE_TYPE qtype);

/// Sets the path that nnfw_quantize() writes to. The default is model.q.onnx beside model.onnx.
NNFW_STATUS nnfw_set_quantized_model_path(nnfw_session* session, const char* path);

/// Quantizes the model, with the gathered ranges if the type needs them, and writes the file. The next run
/// uses the quantized model. Buffers that are set stay valid.
NNFW_STATUS nnfw_quantize(nnfw_session* session);

// ---- Code generation

/// What generated code is optimized for.
typedef enum NNFW_ENUM_TYPE {
  NNFW_CODEGEN_PREF_DEFAULT = 0,
  NNFW_CODEGEN_PREF_PERFORMANCE_FIRST = 1,
  NNFW_CODEGEN_PREF_MEMORY_FIRST = 2,
  NNFW_CODEGEN_PREF_COMPILE_TIME_FIRST = 3
} NNFW_CODEGEN_PREF;

/// Sets the path that nnfw_codegen() writes to. The default is the model's, with the generator's extension.
NNFW_STATUS nnfw_set_codegen_model_path(nnfw_session* session, const char* path);

/// Generates code with the plugin lib<target>.so: "abc-gen" for libabc-gen.so. If the generator has a
/// backend, later runs use it.
NNFW_STATUS nnfw_codegen(nnfw_session* session, const char* target, NNFW_CODEGEN_PREF pref);

// ---- Automatic compilation

/// The number of runs after which nnfw_run_with_auto_compilation() quantizes. Until it is set, it does not.
NNFW_STATUS nnfw_set_odc_param_minmax_records_count(nnfw_session* session, int minmax_records_count);

/// Discards all gathered ranges and deletes their file.
NNFW_STATUS nnfw_odc_delete_minmax_file(nnfw_session* session);

/// Runs the model, gathers ranges, and after enough runs quantizes it and generates code.
NNFW_STATUS nnfw_run_with_auto_compilation(nnfw_session* session, const char* target, NNFW_CODEGEN_PREF pref);

// ---- Configuration

/// For nnfw_set_prepare_config().
typedef enum NNFW_ENUM_TYPE {
  NNFW_PREPARE_CONFIG_PROFILE = 0,       ///< an error: there is no choice of backends per operator
  NNFW_ENABLE_INTERNAL_OUTPUT_ALLOC = 1  ///< outputs without a buffer are kept for nnfw_get_output()
} NNFW_PREPARE_CONFIG;

/// `value` is not used.
NNFW_STATUS nnfw_set_prepare_config(nnfw_session* session, NNFW_PREPARE_CONFIG key, const char* value);
NNFW_STATUS nnfw_reset_prepare_config(nnfw_session* session);

/// For nnfw_set_execute_config().
typedef enum NNFW_ENUM_TYPE {
  NNFW_RUN_CONFIG_DUMP_MINMAX = 0,  ///< gather the ranges of all values, with the float model
  NNFW_RUN_CONFIG_TRACE = 1,        ///< write the times of all nodes to model.trace.json
  NNFW_RUN_CONFIG_PROFILE = 2       ///< an error: no call returns a profile; TRACE writes one
} NNFW_RUN_CONFIG;

/// `value` is not used.
NNFW_STATUS nnfw_set_execute_config(nnfw_session* session, const NNFW_RUN_CONFIG key, const char* value);
/// Clears all, and saves what was gathered.
NNFW_STATUS nnfw_reset_execute_config(nnfw_session* session);

// ---- Inputs and outputs

/// Stores the index of the input with this name in *index.
NNFW_STATUS nnfw_input_tensorindex(nnfw_session* session, const char* tensorname, uint32_t* index);
/// Stores the index of the output with this name in *index.
NNFW_STATUS nnfw_output_tensorindex(nnfw_session* session, const char* tensorname, uint32_t* index);

/// Float32 buffers for a model of float32; another type is an error.
NNFW_STATUS nnfw_set_input_type(nnfw_session* session, uint32_t index, NNFW_TYPE type);
/// The same for an output.
NNFW_STATUS nnfw_set_output_type(nnfw_session* session, uint32_t index, NNFW_TYPE type);

// ---- What anybit cannot do: NNFW_STATUS_ERROR

typedef struct {
  nnfw_tensorinfo type;
  void* allocation;
} nnfw_operand;

typedef struct {
  size_t ninputs;
  nnfw_operand* inputs;
  size_t noutputs;
  nnfw_operand* outputs;
} nnfw_custom_kernel_params;

typedef void (*nnfw_custom_eval)(nnfw_custom_kernel_params* params, char* userdata, size_t userdata_size);

typedef struct {
  nnfw_custom_eval eval_function;
} custom_kernel_registration_info;

NNFW_STATUS nnfw_register_custom_op_info(nnfw_session* session, const char* id,
                                         custom_kernel_registration_info* info);
NNFW_STATUS nnfw_set_backends_per_operation(nnfw_session* session, const char* backend_settings);
NNFW_STATUS nnfw_configure_signature(nnfw_session* session, const char* signature);
NNFW_STATUS nnfw_set_signature_run(nnfw_session* session, const char* signature);

typedef enum NNFW_ENUM_TYPE {
  NNFW_TRAIN_LOSS_UNDEFINED = 0,
  NNFW_TRAIN_LOSS_MEAN_SQUARED_ERROR = 1,
  NNFW_TRAIN_LOSS_CATEGORICAL_CROSSENTROPY = 2
} NNFW_TRAIN_LOSS;

typedef enum NNFW_ENUM_TYPE {
  NNFW_TRAIN_LOSS_REDUCTION_UNDEFINED = 0,
  NNFW_TRAIN_LOSS_REDUCTION_SUM_OVER_BATCH_SIZE = 1,
  NNFW_TRAIN_LOSS_REDUCTION_SUM = 2
} NNFW_TRAIN_LOSS_REDUCTION;

typedef enum NNFW_ENUM_TYPE {
  NNFW_TRAIN_OPTIMIZER_UNDEFINED = 0,
  NNFW_TRAIN_OPTIMIZER_SGD = 1,
  NNFW_TRAIN_OPTIMIZER_ADAM = 2
} NNFW_TRAIN_OPTIMIZER;

typedef struct nnfw_loss_info {
  NNFW_TRAIN_LOSS loss;
  NNFW_TRAIN_LOSS_REDUCTION reduction_type;
} nnfw_loss_info;

typedef enum NNFW_ENUM_TYPE {
  NNFW_TRAIN_TRAINABLE_INCORRECT_STATE = -2,
  NNFW_TRAIN_TRAINABLE_ALL = -1,
  NNFW_TRAIN_TRAINABLE_NONE = 0
} NNFW_TRAIN_NUM_OF_TRAINABLE_OPS_SPECIAL_VALUES;

// In C++ onert's structure has defaults.
#ifdef __cplusplus
#define NNFW_TRAIN_DEFAULT(...) __VA_ARGS__
#else
#define NNFW_TRAIN_DEFAULT(...)
#endif
typedef struct nnfw_train_info {
  float learning_rate NNFW_TRAIN_DEFAULT(= 0.001f);
  uint32_t batch_size NNFW_TRAIN_DEFAULT(= 1);
  nnfw_loss_info loss_info NNFW_TRAIN_DEFAULT({NNFW_TRAIN_LOSS_MEAN_SQUARED_ERROR,
                                               NNFW_TRAIN_LOSS_REDUCTION_SUM_OVER_BATCH_SIZE});
  NNFW_TRAIN_OPTIMIZER opt NNFW_TRAIN_DEFAULT(= NNFW_TRAIN_OPTIMIZER_SGD);
  int32_t num_of_trainable_ops NNFW_TRAIN_DEFAULT(= NNFW_TRAIN_TRAINABLE_NONE);
} nnfw_train_info;
#undef NNFW_TRAIN_DEFAULT

NNFW_STATUS nnfw_train_get_traininfo(nnfw_session* session, nnfw_train_info* info);
NNFW_STATUS nnfw_train_set_traininfo(nnfw_session* session, const nnfw_train_info* info);
NNFW_STATUS nnfw_train_prepare(nnfw_session* session);
NNFW_STATUS nnfw_train_input_tensorinfo(nnfw_session* session, uint32_t index, nnfw_tensorinfo* info);
NNFW_STATUS nnfw_train_expected_tensorinfo(nnfw_session* session, uint32_t index, nnfw_tensorinfo* info);
NNFW_STATUS nnfw_train_set_input(nnfw_session* session, uint32_t index, const void* input,
                                 const nnfw_tensorinfo* input_info);
NNFW_STATUS nnfw_train_set_expected(nnfw_session* session, uint32_t index, const void* expected,
                                    const nnfw_tensorinfo* expected_info);
NNFW_STATUS nnfw_train_set_output(nnfw_session* session, uint32_t index, NNFW_TYPE type, void* buffer,
                                  size_t length);
NNFW_STATUS nnfw_train(nnfw_session* session, bool update_weights);
NNFW_STATUS nnfw_train_get_loss(nnfw_session* session, uint32_t index, float* loss);
NNFW_STATUS nnfw_train_export_circle(nnfw_session* session, const char* path);
NNFW_STATUS nnfw_train_import_checkpoint(nnfw_session* session, const char* path);
NNFW_STATUS nnfw_train_export_checkpoint(nnfw_session* session, const char* path);

// ---- Withdrawn by onert: NNFW_STATUS_DEPRECATED_API

#ifdef __cplusplus
NNFW_STATUS nnfw_prepare_pipeline(nnfw_session* session, const char* map_file_path = nullptr);
#else
NNFW_STATUS nnfw_prepare_pipeline(nnfw_session* session, const char* map_file_path);
#endif
NNFW_STATUS nnfw_push_pipeline_input(nnfw_session* session, void* inputs, void* lengths);
NNFW_STATUS nnfw_pop_pipeline_output(nnfw_session* session, void* outputs);

#ifdef __cplusplus
}  // extern "C"
#endif
