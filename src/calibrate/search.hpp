// A search for the range with the lowest cost among clipped ranges.
#pragma once

#include <functional>

#include "calibrate/table.hpp"

namespace anybit::calibrate {

// The range of all values including zero; symmetric if the grid is.
Range full_range(const Statistics& statistics, const Grid& grid);

struct Criterion {
  // If the cost exceeds `bound`, any number above it may be returned: such a range is not chosen.
  std::function<double(const Range&, double bound)> cost;
  // Called only for ranges with a lower cost than the best so far; may be empty.
  std::function<bool(const Range&)> allowed = {};
};

// Shrinks both ends together, then each alone: about 60 ranges. Of equal costs the wider range wins.
Range best_range(const Statistics& statistics, const Grid& grid, const Criterion& criterion);

}  // namespace anybit::calibrate
