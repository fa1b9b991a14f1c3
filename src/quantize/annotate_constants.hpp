// Annotates the constants of nodes with static or dynamic integer quantization: weights, constant activations
// and biases.
#pragma once

#include "quantize/annotation.hpp"
#include "quantize/constant_notes.hpp"
#include "quantize/roles.hpp"
#include "quantize/scope.hpp"

namespace anybit::quantizing {

// Adds the notes on constants, biases and dynamically quantized nodes. `schemes`: the nodes' schemes without
// the parts that annotate_direct() handled; `is_static`: nodes with static quantization. The notes on values
// must be complete.
Result<void> note_constants(const Scope& scope, const std::vector<Part>& parts,
                            const std::vector<Scheme>& schemes, const std::vector<bool>& is_static,
                            const Target& target, Matcher& matcher, ConstantNotes& constants,
                            GraphNotes& notes);

}  // namespace anybit::quantizing
