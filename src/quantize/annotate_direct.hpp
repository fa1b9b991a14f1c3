// Annotates nodes whose activations are quantized at run time in a format without static parameters (MX,
// minifloats, ternary), or whose weights are in such a format. Each node is independent of the others.
#pragma once

#include <functional>

#include "quantize/constant_notes.hpp"
#include "quantize/roles.hpp"

namespace anybit::quantizing {

// Returns true if annotate_direct() handles this part of a scheme. The others have static scales or integer
// operators.
bool is_direct_data(const Spec& spec);
bool is_direct_weight(const Spec& spec);  // for weights and biases

// Which rule applies to a node: none, one for all operators, or one that names the node or its type.
enum class Asked : std::uint8_t { no, with_all, named };

// Returns true if the declared type is float32.
bool has_floats(const graph::ValueInfo& value);

// Annotates such parts and sets the outcome of their nodes. `io`: the rule for graph inputs and outputs, or
// null. An error if a format does not support the requested use.
// Nodes that the target does not run are left out.
Result<void> annotate_direct(const Scope& scope, const std::vector<Part>& parts, const Target& target,
                             const std::function<Asked(std::size_t)>& asked, const Scheme* io,
                             ConstantNotes& constants, GraphNotes& notes);

}  // namespace anybit::quantizing
