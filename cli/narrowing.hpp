// The loss of reading an array as float32, before any format quantizes the values.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "anybit/npy.hpp"

namespace anybit::cli {

struct Narrowing {
  std::string from;               // the array's own type
  std::int64_t changed = 0;       // values that float32 cannot represent
  std::int64_t flushed = 0;       // of those: became zero
  double largest_change = 0;      // of values that stay finite
  std::int64_t infinite_at = -1;  // index of the first value that overflows; -1 if none does
  double infinite = 0;            // that value
};

// `values` are those of array.to_floats().
Narrowing narrowing_of(const Array& array, std::span<const float> values);

}  // namespace anybit::cli
