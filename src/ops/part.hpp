// Parts of an array along one axis: what joins, splits and walks arrays copies.
#pragma once

#include "ops/array.hpp"

namespace anybit::ops {

// Places [at, at + size) of `whole` along `axis`, to and from `part`, which has as many elements and the same
// type. The elements lie row by row in both.
void put_part(const Array& part, Array& whole, std::size_t axis, std::int64_t at, std::int64_t size);
void take_part(const Array& whole, Array& part, std::size_t axis, std::int64_t at, std::int64_t size);

}  // namespace anybit::ops
