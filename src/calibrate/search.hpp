// Looks for the range with the least cost among those that clip more and more.
#pragma once

#include <functional>

#include "calibrate/table.hpp"

namespace anybit::calibrate {

// The range of all values, with zero in it; as far below as above if the grid is symmetric.
Range whole_range(const Statistics& statistics, const Grid& grid);

// Both ends are drawn in together, then each alone. `cost` is asked about 60 times; of equal costs the wider
// range is kept.
Range best_range(const Statistics& statistics, const Grid& grid,
                 const std::function<double(const Range&)>& cost);

}  // namespace anybit::calibrate
