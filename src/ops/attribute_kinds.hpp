// Attributes as ONNX's schemas have them: an operator that reads one of another kind would take it for one
// that is not there.
#pragma once

#include "anybit/result.hpp"
#include "graph/model.hpp"

namespace anybit::ops {

// An error if an attribute has another kind than the operator's, or if one is missing that must be there.
// Attributes and operators that ONNX does not have are not looked at.
Result<void> check_attributes(const graph::Node& node);

}  // namespace anybit::ops
