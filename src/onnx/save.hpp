// Models to ONNX files and bytes. Files appear whole or not at all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "anybit/result.hpp"
#include "graph/model.hpp"

namespace anybit::onnx {

struct SaveOptions {
  // When tensor data goes into a file beside the model: `keep` leaves each tensor where it was and moves data
  // out only if the model would pass protobuf's 2 GB; `always` moves out every tensor of `external_threshold`
  // bytes or more; `never` puts everything inside, or fails.
  enum class External { keep, always, never } external = External::keep;
  std::int64_t external_threshold = 1024;
};

// External data goes to one file, named after the model: "m.onnx" → "m.onnx.data", or "m.onnx.<hash>.data"
// while an older model of that name still needs the former; the model is renamed into place last, and only
// then is data that nothing refers to any more removed. So a failure at any point leaves the old model whole.
Result<void> save(const graph::Model& model, const std::string& path, const SaveOptions& options = {});
// Without external data. Fails beyond 2 GB.
Result<std::string> serialize(const graph::Model& model);

}  // namespace anybit::onnx
