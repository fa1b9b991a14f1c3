// Finds attention masks in the graph: -Inf, or a large negative number in its place, that is added to scores
// before a Softmax. Such values must not widen a quantization range, nor be clipped by it: they would no
// longer mask anything.
#pragma once

#include <set>
#include <string>

#include "graph/model.hpp"

namespace anybit::passes {

inline constexpr float kEndless = -1e30F;  // finite stand-in for -Inf
// Still masks a score: its exponential vanishes beside any other.
inline constexpr float kHiding = -1e3F;

// Values that lead from a constant of `hidden` or less to the input of a Softmax, or to the mask input of an
// attention, through sums, factors, Where and pass-through operators: the mask itself and the scores that
// include it. Only of this graph, not of subgraphs.
std::set<std::string> masks_in(const graph::Graph& graph, float hidden = kEndless);

}  // namespace anybit::passes
