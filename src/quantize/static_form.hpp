// The form of an activation once its range is known: QuantizeLinear if ONNX has a type with the values of the
// format, otherwise the format with a scale.
#pragma once

#include "calibrate/table.hpp"
#include "lower/plan.hpp"
#include "quantize/spec.hpp"

namespace anybit::quantizing {

// Includes the smallest and largest representable value.
struct StaticForm {
  lower::Quantization as;
  float low = 0, high = 0;
};

// For formats that are neither integers with a scale nor 8-bit floats (parameters.hpp). Blocks and groups
// become one: the parameters from the range apply to the whole tensor. An error for formats whose parameters
// depend on the values.
Result<StaticForm> static_form(const Spec& spec, const calibrate::Range& range);

}  // namespace anybit::quantizing
