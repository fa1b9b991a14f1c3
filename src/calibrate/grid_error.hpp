// The squared quantization error of a grid over a range, including clipping. Values are assumed evenly
// distributed within their bin, so that the error is an integral with a closed form.
#pragma once

#include <limits>
#include <vector>

#include "calibrate/table.hpp"

namespace anybit::calibrate {

class GridError {
 public:
  GridError(const Statistics& statistics, const Grid& grid);
  // The sum over all values; infinity if the range is too narrow for a scale. Above `bound` the result may be
  // any number above it.
  double of(const Range& range, double bound = std::numeric_limits<double>::infinity()) const;

 private:
  struct Span {
    double low, high, density;
  };
  Grid grid_;
  std::vector<Span> spans_;
};

}  // namespace anybit::calibrate
