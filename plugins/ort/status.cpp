#include "status.hpp"

namespace anybit::ort {
namespace {

ErrorCode code_of(Code code) {
  switch (code) {
    case Code::invalid_argument:
    case Code::invalid_data:
      return kInvalidArgument;
    case Code::invalid_model:
    case Code::malformed:
      return kInvalidGraph;
    case Code::unsupported:
      return kNotImplemented;
    default:
      return kFail;
  }
}

}  // namespace

OrtStatus* to_status(const Api& api, const Error& error) noexcept {
  try {
    return api.CreateStatus(code_of(error.code), ("anybit: " + error.text()).c_str());
  } catch (const std::exception& thrown) {
    return api.CreateStatus(kFail, thrown.what());
  }
}

bool succeeded(const Api& api, OrtStatus* status) noexcept {
  if (status == nullptr) return true;
  api.ReleaseStatus(status);
  return false;
}

Result<void> checked(const Api& api, OrtStatus* status, const char* what) {
  if (succeeded(api, status)) return {};
  return Error(Code::invalid_state, std::string("ONNX Runtime failed in ") + what);
}

}  // namespace anybit::ort
