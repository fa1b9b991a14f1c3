// Number formats that are types of ONNX: values go through them by Cast, and weights are stored as they are.
#pragma once

#include <cstdint>

#include "formats/use.hpp"
#include "graph/element_type.hpp"

namespace anybit::lower {

struct StandardType {
  graph::ElementType type = graph::ElementType::undefined;  // undefined: the format is none
  std::int64_t opset = 1;                                   // whose Cast knows it
  float largest = 0;  // values beyond it are cut off first, where Cast would make them infinite; 0: it cuts
};

StandardType standard_type(const formats::Use& use);

// The floating-point type of QuantizeLinear that has the values of this format; undefined: there is none that
// ONNX Runtime (1.31) knows.
graph::ElementType linear_float(const formats::Use& use);

}  // namespace anybit::lower
