// Shapes and work of convolutions of all kinds, before a model runs.
#pragma once

#include "ops/op.hpp"

namespace anybit::ops {

Result<std::optional<Shape>> conv_shape(const Call& call, const Value& x, const Value& w);
// Each output element is a sum over one kernel: channels per group times kernel size.
Dim conv_macs(const Value& w, std::span<const Value> outputs);

}  // namespace anybit::ops
