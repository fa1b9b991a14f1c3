// Statistics of an output along one of its axes, channel by channel, in two models. Parts of an output that
// have different scales (box coordinates, scores, mask coefficients) are found from them (output_parts.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "evaluate/difference.hpp"

namespace anybit::evaluate {

// Scores that lie above a threshold: a detector, a segmenter or a gate decides by them.
struct Decisions {
  std::int64_t before = 0, after = 0, both = 0;
  void add(const Decisions& other);
};

constexpr std::array<float, 3> kThresholds = {0.5F, 0.25F, 0.1F};

struct ChannelSums {
  DifferenceSums difference;
  float low = std::numeric_limits<float>::infinity(), high = -std::numeric_limits<float>::infinity();
  // Of the binary exponents of nonzero values: their count, sum and sum of squares.
  std::int64_t nonzero = 0;
  double exponents = 0, squared_exponents = 0;
  std::array<Decisions, kThresholds.size()> decisions;

  void add(std::span<const float> reference, std::span<const float> other);
  void add(const ChannelSums& other);
  // Whether the reference has a finite value: otherwise there is nothing to compare.
  bool any_finite() const { return low <= high; }
  // Whether all values of the reference are in [0, 1].
  bool in_unit_interval() const { return low >= 0 && high <= 1 + 1e-6F; }
  bool all_zero() const { return low == 0 && high == 0; }
  double mean_exponent() const;
  // Σ (exponent − centre)².
  double spread_around(double centre) const;
};

// The channels of one axis, over all samples. `dims` may differ between samples except along the axis.
class AxisSums {
 public:
  explicit AxisSums(std::size_t axis) : axis_(axis) {}
  void add(std::span<const std::int64_t> dims, std::span<const float> reference,
           std::span<const float> other);
  std::size_t axis() const { return axis_; }
  // Empty if the number of channels differs between samples, or is too large for statistics of each.
  std::span<const ChannelSums> channels() const { return channels_; }

 private:
  static constexpr std::int64_t kMostChannels = 1 << 14;
  std::size_t axis_;
  bool usable_ = true;
  std::vector<ChannelSums> channels_;
};

}  // namespace anybit::evaluate
