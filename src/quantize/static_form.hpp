// How an activation is quantized once its range is known: QuantizeLinear where ONNX has a type of the
// format's values, else the format with a scale.
#pragma once

#include "calibrate/table.hpp"
#include "lower/plan.hpp"
#include "quantize/spec.hpp"

namespace anybit::quantizing {

// With the ends of what it can hold.
struct StaticForm {
  lower::Quantization as;
  float low = 0, high = 0;
};

// Of formats that are neither integers with a scale nor 8-bit floats (parameters.hpp). Blocks and groups
// become one: all of the value shares what the range gives. An error for a format that goes by its values
// alone.
Result<StaticForm> static_form(const Spec& spec, const calibrate::Range& range);

}  // namespace anybit::quantizing
