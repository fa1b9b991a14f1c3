// Number formats that are ONNX types: activations are rounded by Cast, and weights are stored in the type.
#pragma once

#include <cstdint>

#include "formats/use.hpp"
#include "graph/element_type.hpp"

namespace anybit::lower {

struct StandardType {
  graph::ElementType type = graph::ElementType::undefined;  // undefined: the format is not an ONNX type
  std::int64_t opset = 1;                                   // the opset whose Cast supports it
  float largest = 0;  // clip to this magnitude before Cast, which would give infinity; 0: Cast saturates
};

StandardType standard_type(const formats::Use& use);

// Returns the floating-point type of QuantizeLinear that has the values of this format; undefined if ONNX
// Runtime (1.31) supports none.
graph::ElementType linear_float(const formats::Use& use);

}  // namespace anybit::lower
