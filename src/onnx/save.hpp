// Models to ONNX files and bytes. Files appear whole or not at all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "anybit/model.hpp"
#include "anybit/result.hpp"
#include "graph/model.hpp"

namespace anybit::onnx {

// External data goes to one file, named after the model: "m.onnx" → "m.onnx.data", or
// "m.onnx.0000000000000001.data" and so on while a file has the former name; the model is renamed into place
// last, and only then is such data removed that belonged to a model of this name and that no *.onnx beside it
// mentions. So a failure at any point leaves the old model whole. Large tensors begin on a page; data that
// tensors share is written once. `path` may be the very file that the model was loaded from.
Result<void> save(const graph::Model& model, const std::string& path, const SaveOptions& options = {});
// Without external data. Fails beyond 2 GB.
Result<std::string> serialize(const graph::Model& model);
std::uint64_t serialized_size(const graph::Model& model);

}  // namespace anybit::onnx
