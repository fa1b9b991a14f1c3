// How often values of a tensor occur, for pictures.
#pragma once

#include <cstdint>
#include <vector>

namespace anybit {

// Intervals of the same width; the last holds its upper end, too.
struct Histogram {
  float low = 0, high = 0;           // of all intervals together
  std::vector<std::int64_t> counts;  // empty: not known
};

}  // namespace anybit
