// The squared error of a grid over a range, clipping included. Values of a bin count as evenly spread over
// it, so that the error is an integral with a closed form rather than that of the bin's middle.
#pragma once

#include <limits>
#include <vector>

#include "calibrate/table.hpp"

namespace anybit::calibrate {

class GridError {
 public:
  GridError(const Statistics& statistics, const Grid& grid);
  // The sum over all values; infinity if the range is too narrow for a scale. Where it is above `bound`,
  // something above that.
  double of(const Range& range, double bound = std::numeric_limits<double>::infinity()) const;

 private:
  struct Span {
    double low, high, density;
  };
  Grid grid_;
  std::vector<Span> spans_;
};

}  // namespace anybit::calibrate
