#include <algorithm>

#include "calibrate/table.hpp"

namespace anybit::calibrate {

double share_outside(const Statistics& statistics, const Range& range) {
  const double low = std::min(0.0, static_cast<double>(range.low)),
               high = std::max(0.0, static_cast<double>(range.high));
  const auto min = static_cast<double>(statistics.extent.min),
             max = static_cast<double>(statistics.extent.max);
  if (statistics.extent.finite() == 0 || (low <= min && high >= max)) return 0;
  if (!statistics.has_bins) return -1;
  double outside = 0;
  const auto add = [&](const Bins::Bin& bin) {
    const double begin = std::max(static_cast<double>(bin.low), min),
                 end = std::min(static_cast<double>(bin.high), max);
    const double beyond = std::max(0.0, low - begin) + std::max(0.0, end - high);
    // A bin whose values are all equal has width 0.
    const double part = end > begin ? beyond / (end - begin) : beyond > 0 ? 1.0 : 0.0;
    outside += std::min(1.0, part) * static_cast<double>(bin.count);
  };
  statistics.bins.each(add, std::min(0.0f, range.low), std::max(0.0f, range.high));
  return outside / static_cast<double>(statistics.extent.finite());
}

}  // namespace anybit::calibrate
