// The constants of nodes that take ranges, or integer operators: weights, constants where data is expected,
// and biases.
#pragma once

#include "quantize/annotation.hpp"
#include "quantize/constant_notes.hpp"
#include "quantize/roles.hpp"
#include "quantize/scope.hpp"

namespace anybit::quantizing {

// Fills the notes on constants, biases and products that are quantized while they run. `schemes`: what
// annotate_direct() has left of the nodes'; `is_static`: nodes whose data is quantized ahead of time. The
// notes on values are there already.
Result<void> note_constants(const Scope& scope, const std::vector<Part>& parts,
                            const std::vector<Scheme>& schemes, const std::vector<bool>& is_static,
                            const Target& target, Matcher& matcher, ConstantNotes& constants,
                            GraphNotes& notes);

}  // namespace anybit::quantizing
