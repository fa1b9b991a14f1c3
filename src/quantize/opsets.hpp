// The opset that a recipe, or an annotated model, requires.
#pragma once

#include "lower/functions.hpp"
#include "quantize/annotation.hpp"

namespace anybit::quantizing {

// The opset for all formats of a recipe.
std::int64_t opset_for(const Recipe& recipe);
// The opset that an annotated model needs: for the types of QuantizeLinear, DequantizeLinear and Cast, and
// for added functions.
Result<std::int64_t> opset_for(const GraphNotes& notes, lower::Functions::Mode mode);
// The IR version of an opset: older ones lack its types.
std::int64_t ir_for(std::int64_t opset);

}  // namespace anybit::quantizing
