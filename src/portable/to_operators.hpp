// Calls of our functions as nodes of our operators, as a file for anybit alone has them.
#pragma once

#include "portable/portable.hpp"

namespace anybit::portable {

// A call of a function with this meaning, as a node of the operator itself.
void to_operator(graph::Node& node, const Meaning& meaning);

// Metadata of a node that makes weights: what products with them round their data to ("int8"). Runtimes that
// do not know it compute in float32.
graph::Property compute_hint(const std::string& compute);
// As the attribute `compute` of `to`, if `from` has it.
void take_compute_hint(const graph::Node& from, graph::Node& to);

// Every call in the model and in its graphs; the functions go. One that was changed stays, with its calls.
// Returns how many nodes it was.
std::int64_t to_operators(graph::Model& model);

}  // namespace anybit::portable
