// Forward values that the backward graph computes again instead of keeping them (Chen et al., Training Deep
// Nets with Sublinear Memory Cost, 2016).
#pragma once

#include <span>
#include <vector>

#include "train/writer.hpp"

namespace anybit::train {

// Cuts the forward nodes where a single value crosses, into about √n segments. The backward nodes of a
// segment then use copies of its forward nodes, which stand before the first of them; values that cross cuts
// are kept. `ends`: as Walk::ends().
void recompute(std::span<const graph::Node> forward, const std::vector<std::size_t>& ends, Writer& writer);

}  // namespace anybit::train
