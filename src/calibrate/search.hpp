// Looks for the range with the least cost among those that clip more and more.
#pragma once

#include <functional>

#include "calibrate/table.hpp"

namespace anybit::calibrate {

// The range of all values, with zero in it; as far below as above if the grid is symmetric.
Range whole_range(const Statistics& statistics, const Grid& grid);

struct Criterion {
  // Anything above `bound` will do if the cost is: such a range is not taken.
  std::function<double(const Range&, double bound)> cost;
  // Asked only of ranges that cost less than the best so far; may be empty.
  std::function<bool(const Range&)> allowed = {};
};

// Both ends are drawn in together, then each alone: about 60 ranges. Of equal costs the wider one is kept.
Range best_range(const Statistics& statistics, const Grid& grid, const Criterion& criterion);

}  // namespace anybit::calibrate
