// Values to calibrate on, and their statistics.
#pragma once

#include <cmath>
#include <random>
#include <vector>

#include "calibrate/statistics.hpp"

namespace anybit::calibrate::testing {

// One sample.
inline Statistics statistics_of(const std::vector<float>& values) {
  Statistics result;
  result.has_averages = result.has_bins = true;
  const kernels::Extremes seen = kernels::extremes(values.data(), values.size());
  result.extent.add(seen);
  result.extent.samples = 1;
  if (seen.finite > 0) {
    result.averages.min.add(static_cast<double>(seen.min), result.averages.momentum);
    result.averages.max.add(static_cast<double>(seen.max), result.averages.momentum);
  }
  Counter counter;
  std::mutex guard;
  counter.count(values.data(), values.size(), seen, result.bins, guard);
  return result;
}

inline std::vector<float> normal(std::size_t n, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> draw;
  std::vector<float> values(n);
  for (float& one : values) one = draw(random);
  return values;
}

// Normally distributed values after a ReLU.
inline std::vector<float> rectified(std::size_t n, unsigned seed = 1) {
  std::vector<float> values = normal(n, seed);
  for (float& one : values) one = std::fmax(one, 0.0f);
  return values;
}

}  // namespace anybit::calibrate::testing
