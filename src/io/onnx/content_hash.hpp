// Identifies a model by its content.
#pragma once

#include <string>

#include "anybit/result.hpp"
#include "graph/model.hpp"

namespace anybit::onnx {

// SHA-256, in hexadecimal, of the serialized model with all data inside: it does not depend on where tensor
// data is stored.
Result<std::string> content_hash(const graph::Model& model);

}  // namespace anybit::onnx
