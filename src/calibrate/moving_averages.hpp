// Collector of exponential moving averages of each sample's minimum and maximum. It depends on the order of
// the samples by design.
#pragma once

#include <cstdint>

#include "calibrate/collector.hpp"

namespace anybit::calibrate {

// m ← m + momentum · (x − m), starting with the first value. Keeps the state that appending another average
// needs.
struct MovingAverage {
  double value = 0, first = 0;
  std::int64_t count = 0;

  void add(double x, double momentum);
  // Updates as if the values of `other` had followed.
  void append(const MovingAverage& other, double momentum);
  friend bool operator==(const MovingAverage&, const MovingAverage&) = default;
};

struct MovingAverages final : CollectorOf<MovingAverages> {
  double momentum = 0.01;
  MovingAverage min, max;

  // An error if the momentum differs.
  Result<void> merge(const MovingAverages& other);

  void end_sample(const Glance& glance) override;
  void write(JsonMembers& to) const override;
  Result<void> read(const JsonTree& from, const Extent& extent) override;
  friend bool operator==(const MovingAverages&, const MovingAverages&) = default;
};

}  // namespace anybit::calibrate
