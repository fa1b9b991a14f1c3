// Names a model by its content.
#pragma once

#include <string>

#include "anybit/result.hpp"
#include "graph/model.hpp"

namespace anybit::onnx {

// SHA-256, in hexadecimal digits, of the model's bytes with all data inside: where tensors lie on disk does
// not matter, everything else does.
Result<std::string> content_hash(const graph::Model& model);

}  // namespace anybit::onnx
