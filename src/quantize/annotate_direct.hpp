// Nodes whose data goes through a format as it comes, or whose weights are in a format that needs no data:
// MX, small floats, ternary. Each node is looked at by itself.
#pragma once

#include <functional>

#include "quantize/constant_notes.hpp"
#include "quantize/roles.hpp"

namespace anybit::quantizing {

// Whether a part of a scheme is for annotate_direct(). The others take ranges, or integer operators.
bool is_direct_data(const Spec& spec);
bool is_direct_weight(const Spec& spec);  // or bias

// Whether a rule is for a node: one for every operator, or one that names it or its type.
enum class Asked : std::uint8_t { no, with_all, named };

// Of float32, as it is declared.
bool has_floats(const graph::ValueInfo& value);

// Notes such parts, and the outcome of the nodes that have some. `io`: what a rule says of the model's own
// inputs and outputs; null: nothing. An error if a format cannot be used where the recipe wants it.
Result<void> annotate_direct(const Scope& scope, const std::vector<Part>& parts,
                             const std::function<Asked(std::size_t)>& asked, const Scheme* io,
                             ConstantNotes& constants, GraphNotes& notes);

}  // namespace anybit::quantizing
