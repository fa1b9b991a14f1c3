// Histograms with bins of equal width, for reports.
#pragma once

#include <cstddef>

#include "anybit/histogram.hpp"
#include "base/bytes.hpp"
#include "calibrate/statistics.hpp"

namespace anybit::calibrate {

inline constexpr std::size_t kHistogramIntervals = 128;

// The histogram of the finite values from minimum to maximum, assuming values evenly distributed within their
// collected bin. Empty without collected bins.
Histogram histogram(const Statistics& statistics, std::size_t intervals = kHistogramIntervals);
// The histogram of the finite values of a float32 array.
Histogram histogram(const Bytes& floats, std::size_t intervals = kHistogramIntervals);

}  // namespace anybit::calibrate
