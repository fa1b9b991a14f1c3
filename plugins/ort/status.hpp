// Errors on the way between anybit and ONNX Runtime. No exception crosses the border.
#pragma once

#include <exception>
#include <string>

#include "abi.hpp"
#include "anybit/result.hpp"

namespace anybit::ort {

// The error as ONNX Runtime reports it.
OrtStatus* to_status(const Api& api, const Error& error) noexcept;
// Releases a status of ONNX Runtime; true if it was a success.
bool succeeded(const Api& api, OrtStatus* status) noexcept;
// The same as a result. `what`: the call.
Result<void> checked(const Api& api, OrtStatus* status, const char* what);

// Runs a body that returns Result<void>, for a callback of ONNX Runtime.
template <class Body>
OrtStatus* status_of(const Api& api, const Body& body) noexcept {
  try {
    const Result<void> done = body();
    return done.ok() ? nullptr : to_status(api, done.error());
  } catch (const std::exception& thrown) {
    return api.CreateStatus(kFail, thrown.what());
  }
}

}  // namespace anybit::ort
