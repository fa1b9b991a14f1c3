// Shape inference and multiply-accumulate counts for convolutions of all kinds.
#pragma once

#include "ops/op.hpp"

namespace anybit::ops {

Result<std::optional<Shape>> conv_shape(const Call& call, const Value& x, const Value& w);
// Each output element takes channels per group times kernel size multiply-accumulates.
Dim conv_macs(const Value& w, std::span<const Value> outputs);

}  // namespace anybit::ops
