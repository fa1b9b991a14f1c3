// TableDecode by itself, for whoever makes such nodes and wants to know what they give.
#pragma once

#include <span>

#include "anybit/result.hpp"
#include "ops/array.hpp"
#include "ops/attributes.hpp"

namespace anybit::ops {

// `inputs` as the node has them; null, or too few: left out. `out` has as many elements as the node's `dims`.
Result<void> table_decode(const Attributes& node, std::span<const Array* const> inputs, float* out);

}  // namespace anybit::ops
