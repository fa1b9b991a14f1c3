// Histograms with intervals of the same width, for reports.
#pragma once

#include <cstddef>

#include "anybit/histogram.hpp"
#include "base/bytes.hpp"
#include "calibrate/statistics.hpp"

namespace anybit::calibrate {

inline constexpr std::size_t kHistogramIntervals = 128;

// Of the finite values, from the smallest to the largest; within a bin they count as evenly spread. Empty
// without bins.
Histogram histogram(const Statistics& statistics, std::size_t intervals = kHistogramIntervals);
// Of float32 values, those that are finite.
Histogram histogram(const Bytes& floats, std::size_t intervals = kHistogramIntervals);

}  // namespace anybit::calibrate
