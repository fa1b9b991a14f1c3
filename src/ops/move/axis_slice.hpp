// Copies slices of an array along one axis, for Concat, Split, Scan and similar operators.
#pragma once

#include "ops/array.hpp"

namespace anybit::ops {

// Copies indices [at, at + size) of `whole` along `axis` from or to `part`, which has as many elements and
// the same type. Both arrays are row-major.
void put_part(const Array& part, Array& whole, std::size_t axis, std::int64_t at, std::int64_t size);
void take_part(const Array& whole, Array& part, std::size_t axis, std::int64_t at, std::int64_t size);

}  // namespace anybit::ops
