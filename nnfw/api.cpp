// The functions of nnfw/nnfw.h and nnfw/nnfw_internal.h.
#include <cstring>

#include "call.hpp"
#include "nnfw/nnfw_internal.h"
#include "nnfw/nnfw_version.h"

using anybit::nnfw::call;
using anybit::nnfw::call_with;
using anybit::nnfw::Session;
using anybit::nnfw::State;
using namespace anybit::nnfw;  // the sets of states

namespace anybit::nnfw {

const char* name_of(State state) {
  switch (state) {
    case State::created:
      return "created, without a model";
    case State::loaded:
      return "loaded, not prepared";
    case State::replaced:
      return "loaded with a quantized or compiled model";
    case State::prepared:
      return "prepared";
    case State::ran:
      return "prepared, and has run";
    case State::running:
      return "running";
  }
  return "";
}

namespace {

NNFW_STATUS copy_text(const std::string& text, char* buffer, std::size_t length) {
  if (!buffer) return NNFW_STATUS_UNEXPECTED_NULL;
  if (length <= text.size()) return NNFW_STATUS_INSUFFICIENT_OUTPUT_SIZE;
  std::memcpy(buffer, text.c_str(), text.size() + 1);
  return NNFW_STATUS_NO_ERROR;
}

NNFW_STATUS check_layout(Session& session, std::uint32_t index, std::uint32_t count, NNFW_LAYOUT layout) {
  if (index >= count) return session.fail(NNFW_STATUS_ERROR, "there is no input or output with that index");
  if (layout == NNFW_LAYOUT_NONE) return NNFW_STATUS_NO_ERROR;
  return session.fail(NNFW_STATUS_ERROR, "buffers have the layout of the model: NNFW_LAYOUT_NONE");
}

}  // namespace
}  // namespace anybit::nnfw

extern "C" {

NNFW_STATUS nnfw_create_session(nnfw_session** session) {
  if (!session) return NNFW_STATUS_UNEXPECTED_NULL;
  *session = nullptr;
  try {
    auto inner = Session::make();
    if (!inner) return NNFW_STATUS_OUT_OF_MEMORY;
    *session = new nnfw_session{std::move(inner)};
    return NNFW_STATUS_NO_ERROR;
  } catch (const std::bad_alloc&) {
    return NNFW_STATUS_OUT_OF_MEMORY;
  }
}

NNFW_STATUS nnfw_close_session(nnfw_session* session) {
  if (!session) return NNFW_STATUS_NO_ERROR;
  const anybit_status saved = session->inner->close();
  delete session;
  return saved == ANYBIT_OK ? NNFW_STATUS_NO_ERROR : NNFW_STATUS_ERROR;
}

NNFW_STATUS nnfw_get_last_error_message(nnfw_session* session, char* buffer, size_t length) {
  return session ? copy_text(session->inner->error(), buffer, length) : NNFW_STATUS_UNEXPECTED_NULL;
}

NNFW_STATUS nnfw_query_info_u32(nnfw_session*, NNFW_INFO_ID id, uint32_t* val) {
  if (id != NNFW_INFO_ID_VERSION || !val) return NNFW_STATUS_ERROR;
  *val = NNFW_VERSION;
  return NNFW_STATUS_NO_ERROR;
}

NNFW_STATUS nnfw_load_model_from_file(nnfw_session* session, const char* path) {
  return call_with(session, kFirst, path, "the path", [&](Session& s) { return s.load_path(path); });
}

NNFW_STATUS nnfw_load_model_from_modelfile(nnfw_session* session, const char* path) {
  return call_with(session, kFirst, path, "the path", [&](Session& s) { return s.load_file(path); });
}

NNFW_STATUS nnfw_load_circle_from_buffer(nnfw_session* session, uint8_t* buffer, size_t size) {
  return call_with(session, kFirst, buffer, "the buffer",
                   [&](Session& s) { return s.load_bytes(buffer, size); });
}

NNFW_STATUS nnfw_set_workspace(nnfw_session* session, const char* dir) {
  // As in onert, the pointer counts before the state.
  return call_with(session, dir ? kFirst : kAlways, dir, "the folder",
                   [&](Session& s) { return s.set_workspace(dir); });
}

NNFW_STATUS nnfw_set_available_backends(nnfw_session* session, const char* backends) {
  return call_with(session, kLoaded, backends, "the text",
                   [&](Session& s) { return s.set_backends(backends); });
}

NNFW_STATUS nnfw_set_available_backend(nnfw_session* session, const char* backend) {
  return nnfw_set_available_backends(session, backend);
}

NNFW_STATUS nnfw_prepare(nnfw_session* session) {
  return call(session, kBefore, [](Session& s) { return s.prepare(); });
}

NNFW_STATUS nnfw_input_size(nnfw_session* session, uint32_t* number) {
  return call_with(session, kLoaded | kRunning, number, "the pointer to the number", [&](Session& s) {
    *number = s.input_count();
    return NNFW_STATUS_NO_ERROR;
  });
}

NNFW_STATUS nnfw_output_size(nnfw_session* session, uint32_t* number) {
  return call_with(session, kLoaded | kRunning, number, "the pointer to the number", [&](Session& s) {
    *number = s.output_count();
    return NNFW_STATUS_NO_ERROR;
  });
}

NNFW_STATUS nnfw_input_tensorinfo(nnfw_session* session, uint32_t index, nnfw_tensorinfo* tensor_info) {
  return call_with(session, kLoaded, tensor_info, "the pointer to the info",
                   [&](Session& s) { return s.input_info(index, tensor_info); });
}

NNFW_STATUS nnfw_output_tensorinfo(nnfw_session* session, uint32_t index, nnfw_tensorinfo* tensor_info) {
  return call_with(session, kLoaded, tensor_info, "the pointer to the info",
                   [&](Session& s) { return s.output_info(index, tensor_info); });
}

NNFW_STATUS nnfw_set_input_tensorinfo(nnfw_session* session, uint32_t index,
                                      const nnfw_tensorinfo* tensor_info) {
  return call_with(session, kLoaded, tensor_info, "the info",
                   [&](Session& s) { return s.set_input_shape(index, *tensor_info); });
}

NNFW_STATUS nnfw_set_input(nnfw_session* session, uint32_t index, NNFW_TYPE type, const void* buffer,
                           size_t length) {
  return call(session, kReady, [&](Session& s) { return s.set_input(index, type, buffer, length); });
}

NNFW_STATUS nnfw_set_output(nnfw_session* session, uint32_t index, NNFW_TYPE type, void* buffer,
                            size_t length) {
  return call(session, kReady, [&](Session& s) { return s.set_output(index, type, buffer, length); });
}

NNFW_STATUS nnfw_set_input_layout(nnfw_session* session, uint32_t index, NNFW_LAYOUT layout) {
  return call(session, kLoaded, [&](Session& s) { return check_layout(s, index, s.input_count(), layout); });
}

NNFW_STATUS nnfw_set_output_layout(nnfw_session* session, uint32_t index, NNFW_LAYOUT layout) {
  return call(session, kLoaded, [&](Session& s) { return check_layout(s, index, s.output_count(), layout); });
}

NNFW_STATUS nnfw_run(nnfw_session* session) {
  return call(session, kReady, [](Session& s) { return s.run(); });
}

NNFW_STATUS nnfw_run_async(nnfw_session* session) {
  return call(session, kReady, [](Session& s) { return s.start(); });
}

NNFW_STATUS nnfw_await(nnfw_session* session) {
  return call(session, kAlways, [](Session& s) { return s.wait(); });
}

NNFW_STATUS nnfw_get_output(nnfw_session* session, uint32_t index, nnfw_tensorinfo* out_info,
                            const void** out_buffer) {
  return call_with(session, in(State::ran), out_info, "the pointer to the info", [&](Session& s) {
    return out_buffer ? s.get_output(index, out_info, out_buffer)
                      : s.fail(NNFW_STATUS_UNEXPECTED_NULL, "the pointer to the buffer is NULL");
  });
}

NNFW_STATUS nnfw_set_config(nnfw_session* session, const char* key, const char* value) {
  return call_with(
      session, in(State::loaded), key && value ? key : nullptr, "the key or the value", [&](Session& s) {
        if (std::strcmp(key, "NUM_THREADS") == 0) return s.set_threads(value);
        return s.fail(NNFW_STATUS_ERROR, "there is no key '" + std::string(key) + "'; NUM_THREADS is one");
      });
}

NNFW_STATUS nnfw_get_config(nnfw_session* session, const char* key, char* value, size_t value_size) {
  return call_with(session, kBefore, key && value ? key : nullptr, "the key or the value", [&](Session& s) {
    if (std::strcmp(key, "NUM_THREADS") == 0) return copy_text(s.threads(), value, value_size);
    return s.fail(NNFW_STATUS_ERROR, "there is no key '" + std::string(key) + "'; NUM_THREADS is one");
  });
}

}  // extern "C"
