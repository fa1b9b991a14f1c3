// Replaces calls of anybit's functions by its operators, for models that only anybit runs.
#pragma once

#include "portable/portable.hpp"

namespace anybit::portable {

// Turns a call of a function with this meaning into a node of the operator.
void to_operator(graph::Node& node, const RecognisedFunction& meaning);

// Node metadata of a dequantized weight: the type to which linear operators round their activations ("int8").
// Other runtimes ignore it and compute in float32.
graph::Property compute_hint(const std::string& compute);
// Copies the hint of `from`, if any, to the attribute `compute` of `to`.
void take_compute_hint(const graph::Node& from, graph::Node& to);

// Replaces all calls in the model and its subgraphs and removes the functions. Modified functions stay, with
// their calls. Splits joined nodes (packed_matmul.hpp). Returns the number of replaced calls.
std::int64_t to_operators(graph::Model& model);

}  // namespace anybit::portable
