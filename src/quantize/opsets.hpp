// The opset that a recipe, or what it makes of a model, needs.
#pragma once

#include "lower/functions.hpp"
#include "quantize/annotation.hpp"

namespace anybit::quantizing {

// What the recipe takes if the model has something for all of it.
std::int64_t opset_for(const Recipe& recipe);
// What QuantizeLinear and Cast need to know the types, what the functions need that the model will carry, and
// what DequantizeLinear needs where there are none.
Result<std::int64_t> opset_for(const GraphNotes& notes, lower::Functions::Mode mode);
// The IR version that came with an opset: older ones do not have its types.
std::int64_t ir_for(std::int64_t opset);

}  // namespace anybit::quantizing
