// Model files of any kind. What a file is follows from its content when it is read, from its name when it is
// written.
#pragma once

#include <string>

#include "anybit/model.hpp"
#include "anybit/result.hpp"
#include "base/bytes.hpp"
#include "graph/model.hpp"

namespace anybit::io {

// Maps the file: weights inside it, and in data beside it, stay on disk until they are used.
Result<graph::Model> load(const std::string& path, const LoadOptions& options = {});
// Without a folder: the model can have no data beside it.
Result<graph::Model> parse(const Bytes& bytes, const LoadOptions& options = {});
// A name without an extension is that of an ONNX file.
Result<void> save(const graph::Model& model, const std::string& path, const SaveOptions& options = {});

}  // namespace anybit::io
