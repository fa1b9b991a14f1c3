// Arithmetic on the contents of small tensors, for shapes that a model computes.
#pragma once

#include "ops/op.hpp"

namespace anybit::ops {

using Combine = Dim (*)(const Dim& a, const Dim& b);

// Element by element; either side may be a single one. Nothing if the contents are not known or the shapes
// need more broadcasting than that.
std::optional<std::vector<Dim>> combine(const Value& a, const Value& b, Combine combine);

}  // namespace anybit::ops
