// What reading an array as float32 changes, before any format sees the values.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "anybit/npy.hpp"

namespace anybit::cli {

struct Narrowing {
  std::string from;               // the array's own type
  std::int64_t changed = 0;       // values that float32 does not have
  std::int64_t flushed = 0;       // of those: became zero
  double largest_change = 0;      // of those that stayed finite
  std::int64_t infinite_at = -1;  // index of the first that became infinite; -1 if none did
  double infinite = 0;            // what it was
};

// `values` are those of array.to_floats().
Narrowing narrowing_of(const Array& array, std::span<const float> values);

}  // namespace anybit::cli
