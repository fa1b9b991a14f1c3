// Model files of any format. Reading recognizes the format by the content, writing chooses it by the file
// name.
#pragma once

#include <string>

#include "anybit/model.hpp"
#include "anybit/result.hpp"
#include "base/bytes.hpp"
#include "graph/model.hpp"

namespace anybit::io {

// Maps the file: weights in it, and in external data files, stay on disk until they are used.
Result<graph::Model> load(const std::string& path, const LoadOptions& options = {});
// Without a folder, so the model may have no external data.
Result<graph::Model> parse(const Bytes& bytes, const LoadOptions& options = {});
// A name without an extension means ONNX.
Result<void> save(const graph::Model& model, const std::string& path, const SaveOptions& options = {});

}  // namespace anybit::io
