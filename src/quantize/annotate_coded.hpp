// Nodes whose tensors are to be in formats that ONNX has no QuantizeLinear for. Each node is looked at by
// itself: its inputs go through the format, its weights are stored in it.
#pragma once

#include "quantize/annotation.hpp"
#include "quantize/roles.hpp"
#include "quantize/scope.hpp"

namespace anybit::quantizing {

// Fills the coded notes, and tells the outcome of the nodes that have some. `asked(i)`: a rule names node i,
// or its type. An error if a format cannot be used where the recipe wants it.
Result<void> annotate_coded(const Scope& scope, const std::vector<Part>& parts,
                            const std::function<bool(std::size_t)>& asked, GraphNotes& notes);

}  // namespace anybit::quantizing
