/// @file
/// Histograms of tensors, for display.
#pragma once

#include <cstdint>
#include <vector>

namespace anybit {

/// A histogram with bins of equal width. The last bin includes its upper bound.
struct Histogram {
  float low = 0, high = 0;           ///< range of all bins together
  std::vector<std::int64_t> counts;  ///< values per bin; empty: not available
};

}  // namespace anybit
