// The attribute kinds of ONNX's schemas. An operator treats an attribute of another kind as absent, so kinds
// are checked first.
#pragma once

#include "anybit/result.hpp"
#include "graph/model.hpp"

namespace anybit::ops {

// An error if an attribute's kind differs from the schema, or if a required attribute is missing. Attributes
// and operators outside ONNX's schemas are not checked.
Result<void> check_attributes(const graph::Node& node);

}  // namespace anybit::ops
