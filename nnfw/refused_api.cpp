// Functions of onert's API for what anybit cannot do, or onert has withdrawn.
#include "call.hpp"
#include "nnfw/nnfw_internal.h"

using namespace anybit::nnfw;

namespace {

NNFW_STATUS refused(nnfw_session* session, const char* why) {
  return call(session, kAlways, [&](Session& s) { return s.fail(NNFW_STATUS_ERROR, why); });
}

NNFW_STATUS training(nnfw_session* session) { return refused(session, "anybit does not train models yet"); }

NNFW_STATUS signatures(nnfw_session* session) {
  return refused(session, "ONNX models have no signatures: the whole model runs");
}

NNFW_STATUS withdrawn(nnfw_session* session, const char* instead) {
  return call(session, kAlways, [&](Session& s) {
    return s.fail(NNFW_STATUS_DEPRECATED_API, std::string("onert has withdrawn this function; ") + instead);
  });
}

}  // namespace

extern "C" {

NNFW_STATUS nnfw_apply_tensorinfo(nnfw_session* session, uint32_t, nnfw_tensorinfo) {
  return withdrawn(session, "nnfw_set_input_tensorinfo replaces it");
}
NNFW_STATUS nnfw_set_op_backend(nnfw_session* session, const char*, const char*) {
  return withdrawn(session, "nnfw_set_available_backends chooses for the whole model");
}
NNFW_STATUS nnfw_prepare_pipeline(nnfw_session* session, const char*) {
  return withdrawn(session, "nnfw_prepare prepares one model");
}
NNFW_STATUS nnfw_push_pipeline_input(nnfw_session* session, void*, void*) {
  return withdrawn(session, "nnfw_set_input sets an input");
}
NNFW_STATUS nnfw_pop_pipeline_output(nnfw_session* session, void*) {
  return withdrawn(session, "nnfw_set_output sets an output");
}

NNFW_STATUS nnfw_register_custom_op_info(nnfw_session* session, const char*,
                                         custom_kernel_registration_info*) {
  return refused(session, "custom kernels cannot be registered");
}
NNFW_STATUS nnfw_set_backends_per_operation(nnfw_session* session, const char*) {
  return refused(session, "a backend runs the whole model: nnfw_set_available_backends");
}
NNFW_STATUS nnfw_configure_signature(nnfw_session* session, const char*) { return signatures(session); }
NNFW_STATUS nnfw_set_signature_run(nnfw_session* session, const char*) { return signatures(session); }

NNFW_STATUS nnfw_train_get_traininfo(nnfw_session* session, nnfw_train_info*) { return training(session); }
NNFW_STATUS nnfw_train_set_traininfo(nnfw_session* session, const nnfw_train_info*) {
  return training(session);
}
NNFW_STATUS nnfw_train_prepare(nnfw_session* session) { return training(session); }
NNFW_STATUS nnfw_train_input_tensorinfo(nnfw_session* session, uint32_t, nnfw_tensorinfo*) {
  return training(session);
}
NNFW_STATUS nnfw_train_expected_tensorinfo(nnfw_session* session, uint32_t, nnfw_tensorinfo*) {
  return training(session);
}
NNFW_STATUS nnfw_train_set_input(nnfw_session* session, uint32_t, const void*, const nnfw_tensorinfo*) {
  return training(session);
}
NNFW_STATUS nnfw_train_set_expected(nnfw_session* session, uint32_t, const void*, const nnfw_tensorinfo*) {
  return training(session);
}
NNFW_STATUS nnfw_train_set_output(nnfw_session* session, uint32_t, NNFW_TYPE, void*, size_t) {
  return training(session);
}
NNFW_STATUS nnfw_train(nnfw_session* session, bool) { return training(session); }
NNFW_STATUS nnfw_train_get_loss(nnfw_session* session, uint32_t, float*) { return training(session); }
NNFW_STATUS nnfw_train_export_circle(nnfw_session* session, const char*) { return training(session); }
NNFW_STATUS nnfw_train_export_circleplus(nnfw_session* session, const char*) { return training(session); }
NNFW_STATUS nnfw_train_import_checkpoint(nnfw_session* session, const char*) { return training(session); }
NNFW_STATUS nnfw_train_export_checkpoint(nnfw_session* session, const char*) { return training(session); }

}  // extern "C"
