// On-device compilation and configuration: functions of nnfw/nnfw_experimental.h.
#include "call.hpp"

using namespace anybit::nnfw;

extern "C" {

NNFW_STATUS nnfw_set_quantization_type(nnfw_session* session, NNFW_QUANTIZE_TYPE qtype) {
  return call(session, kLoaded, [&](Session& s) { return s.set_quantization_type(qtype); });
}

NNFW_STATUS nnfw_set_quantized_model_path(nnfw_session* session, const char* path) {
  return call_with(session, kLoaded, path, "the path",
                   [&](Session& s) { return s.set_quantized_path(path); });
}

NNFW_STATUS nnfw_quantize(nnfw_session* session) {
  return call(session, kLoaded, [](Session& s) { return s.quantize(); });
}

NNFW_STATUS nnfw_set_codegen_model_path(nnfw_session* session, const char* path) {
  return call_with(session, kLoaded, path, "the path",
                   [&](Session& s) { return s.set_generated_path(path); });
}

NNFW_STATUS nnfw_codegen(nnfw_session* session, const char* target, NNFW_CODEGEN_PREF pref) {
  return call_with(session, kLoaded, target, "the target",
                   [&](Session& s) { return s.codegen(target, pref); });
}

NNFW_STATUS nnfw_set_odc_param_minmax_records_count(nnfw_session* session, int minmax_records_count) {
  return call(session, kLoaded, [&](Session& s) { return s.set_threshold(minmax_records_count); });
}

NNFW_STATUS nnfw_odc_delete_minmax_file(nnfw_session* session) {
  return call(session, kLoaded, [](Session& s) { return s.delete_ranges(); });
}

NNFW_STATUS nnfw_run_with_auto_compilation(nnfw_session* session, const char* target,
                                           NNFW_CODEGEN_PREF pref) {
  return call_with(session, kReady, target, "the target",
                   [&](Session& s) { return s.run_auto(target, pref); });
}

NNFW_STATUS nnfw_set_prepare_config(nnfw_session* session, NNFW_PREPARE_CONFIG key, const char*) {
  return call(session, kBefore, [&](Session& s) {
    if (key != NNFW_ENABLE_INTERNAL_OUTPUT_ALLOC)
      return s.fail(NNFW_STATUS_ERROR,
                    "there is nothing to choose by a profile before a run; "
                    "NNFW_ENABLE_INTERNAL_OUTPUT_ALLOC is the only key");
    s.keep_outputs(true);
    return NNFW_STATUS_NO_ERROR;
  });
}

NNFW_STATUS nnfw_reset_prepare_config(nnfw_session* session) {
  return call(session, kBefore, [](Session& s) {
    s.keep_outputs(false);
    return NNFW_STATUS_NO_ERROR;
  });
}

NNFW_STATUS nnfw_set_execute_config(nnfw_session* session, const NNFW_RUN_CONFIG key, const char*) {
  return call(session, kReady, [&](Session& s) { return s.set_config(key); });
}

NNFW_STATUS nnfw_reset_execute_config(nnfw_session* session) {
  return call(session, kReady, [](Session& s) { return s.reset_config(); });
}

NNFW_STATUS nnfw_input_tensorindex(nnfw_session* session, const char* tensorname, uint32_t* index) {
  return call_with(session, kLoaded, tensorname && index ? index : nullptr,
                   "the name or the pointer to the index",
                   [&](Session& s) { return s.input_index(tensorname, index); });
}

NNFW_STATUS nnfw_output_tensorindex(nnfw_session* session, const char* tensorname, uint32_t* index) {
  return call_with(session, kLoaded, tensorname && index ? index : nullptr,
                   "the name or the pointer to the index",
                   [&](Session& s) { return s.output_index(tensorname, index); });
}

NNFW_STATUS nnfw_set_input_type(nnfw_session* session, uint32_t index, NNFW_TYPE type) {
  return call(session, kBefore, [&](Session& s) { return s.check_input_type(index, type); });
}

NNFW_STATUS nnfw_set_output_type(nnfw_session* session, uint32_t index, NNFW_TYPE type) {
  return call(session, kBefore, [&](Session& s) { return s.check_output_type(index, type); });
}

}  // extern "C"
