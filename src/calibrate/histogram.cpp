#include "calibrate/histogram.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace anybit::calibrate {
namespace {

// Distributes fractional counts over bins, and rounds to integers at the end.
class Sums {
 public:
  Sums(double low, double high, std::size_t intervals)
      : low_(low), width_((high - low) / static_cast<double>(intervals)), sums_(intervals) {}

  void add(double value, double count) { sums_[place(value)] += count; }

  // Distributes values evenly over an interval.
  void spread(double begin, double end, double count) {
    const std::size_t first = place(begin), last = place(end);
    if (first == last || !(end > begin)) return add(begin, count);
    for (std::size_t i = first; i <= last; ++i) {
      const double left = std::max(begin, low_ + width_ * static_cast<double>(i));
      const double right = i == last ? end : std::min(end, low_ + width_ * static_cast<double>(i + 1));
      sums_[i] += count * std::max(0.0, right - left) / (end - begin);
    }
  }

  std::vector<std::int64_t> counts() const {
    std::vector<std::int64_t> counts;
    for (const double sum : sums_) counts.push_back(std::llround(sum));
    return counts;
  }

 private:
  std::size_t place(double value) const {
    if (!(width_ > 0)) return 0;
    const double at = std::floor((value - low_) / width_);
    return static_cast<std::size_t>(std::clamp(at, 0.0, static_cast<double>(sums_.size() - 1)));
  }

  double low_, width_;
  std::vector<double> sums_;
};

}  // namespace

Histogram histogram(const Statistics& statistics, std::size_t intervals) {
  Histogram result{statistics.extent.min, statistics.extent.max, {}};
  if (!statistics.has_bins || statistics.extent.finite() == 0) return result;
  const auto low = static_cast<double>(statistics.extent.min),
             high = static_cast<double>(statistics.extent.max);
  Sums sums(low, high, intervals);
  sums.add(0, static_cast<double>(statistics.extent.zeros));
  for (const Bins::Bin& bin : statistics.bins.sorted()) {
    sums.spread(std::max(low, static_cast<double>(bin.low)), std::min(high, static_cast<double>(bin.high)),
                static_cast<double>(bin.count));
  }
  result.counts = sums.counts();
  return result;
}

Histogram histogram(const Bytes& floats, std::size_t intervals) {
  Histogram result;
  const std::size_t count = floats.size() / sizeof(float);
  float low = std::numeric_limits<float>::infinity(), high = -low;
  for (std::size_t i = 0; i < count; ++i) {
    const float value = floats.at<float>(i);
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) return result;
  result.low = low;
  result.high = high;
  Sums sums(static_cast<double>(low), static_cast<double>(high), intervals);
  for (std::size_t i = 0; i < count; ++i) {
    const float value = floats.at<float>(i);
    if (std::isfinite(value)) sums.add(static_cast<double>(value), 1);
  }
  result.counts = sums.counts();
  return result;
}

}  // namespace anybit::calibrate
