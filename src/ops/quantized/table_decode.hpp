// TableDecode as a plain function, for code that creates such nodes and needs their results.
#pragma once

#include <span>

#include "anybit/result.hpp"
#include "ops/array.hpp"
#include "ops/attributes.hpp"

namespace anybit::ops {

// `inputs`: as in the node; omitted ones are null or missing at the end. `out` has as many elements as the
// attribute `dims`.
Result<void> table_decode(const Attributes& node, std::span<const Array* const> inputs, float* out);

}  // namespace anybit::ops
