// Saves models to ONNX files and bytes. Files are written completely or not at all.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "anybit/model.hpp"
#include "anybit/result.hpp"
#include "graph/model.hpp"

namespace anybit::onnx {

// External data goes to one file, named after the model: "m.onnx" → "m.onnx.data", or
// "m.onnx.0000000000000001.data" and so on if that exists. The model is renamed into place last; only then
// are data files removed that belonged to the replaced model and that no other *.onnx in the folder mentions.
// So a failure at any point leaves the old model complete. Large tensors begin on a page boundary; shared
// data is written once. `path` may be the file that the model was loaded from.
Result<void> save(const graph::Model& model, const std::string& path, const SaveOptions& options = {});
// Without external data. Fails above 2 GB.
Result<std::string> serialize(const graph::Model& model);
std::uint64_t serialized_size(const graph::Model& model);

}  // namespace anybit::onnx
