// Attention masks: -Inf, or a number that stands for it, on its way into a Softmax. Such values are known
// from the graph alone. No range holds them beside other numbers, and clipped they would no longer hide
// anything.
#pragma once

#include <set>
#include <string>

#include "graph/model.hpp"

namespace anybit::passes {

inline constexpr float kEndless = -1e30F;  // what stands for -Inf
inline constexpr float kHiding =
    -1e3F;  // what hides a score all the same: its exponential is zero beside any other

// Values that a constant of `hidden` or less reaches by sums, factors, choices and moves, and that Softmax is
// given, or the mask of an attention, in the same way: the mask itself and the scores behind it. Of this
// graph alone, none inside it.
std::set<std::string> masks_in(const graph::Graph& graph, float hidden = kEndless);

}  // namespace anybit::passes
