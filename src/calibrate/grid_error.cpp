#include "calibrate/grid_error.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace anybit::calibrate {
namespace {

// Quantized values of the grid: value = level · scale.
struct Levels {
  double scale, least, most;
};

Levels levels_of(const Range& range, const Grid& grid) {
  const double levels = std::max(grid.levels, 3), low = static_cast<double>(range.low);
  const double high = static_cast<double>(range.high);
  if (grid.symmetric) {
    const double most = std::floor((levels - 1) / 2);
    return {high / most, most - levels + 1, most};
  }
  const double scale = (high - low) / (levels - 1), zero = std::nearbyint(-low / scale);
  return {scale, -zero, levels - 1 - zero};
}

// 12 ∫ (u − q(u))² du from 0 to t, where q(u) rounds to the nearest quantized value: 1 for every whole cell.
// Everything beyond the last quantized value belongs to its cell.
double integral(double t, const Levels& levels) {
  constexpr double kRound = 6755399441055744.0;  // 1.5 · 2^52: adding it rounds to an integer
  const double nearest = std::clamp(t, levels.least, levels.most) + kRound - kRound;
  const double away = t - nearest;
  return nearest + 4 * away * away * away;
}

}  // namespace

GridError::GridError(const Statistics& statistics, const Grid& grid) : grid_(grid) {
  const std::vector<Bins::Bin> bins = statistics.bins.sorted();
  spans_.reserve(bins.size());
  for (const Bins::Bin& bin : bins) {
    const double high = static_cast<double>(std::min(bin.high, statistics.extent.max));
    double low = static_cast<double>(std::max(bin.low, statistics.extent.min));
    low = std::min(low, high - 1e-6 * std::abs(high));  // a single value becomes a narrow interval
    spans_.push_back({low, high, static_cast<double>(bin.count) / (high - low)});
  }
}

double GridError::of(const Range& range, double bound) const {
  const Levels levels = levels_of(range, grid_);
  if (!(levels.scale >= static_cast<double>(std::numeric_limits<float>::min())))
    return std::numeric_limits<double>::infinity();
  const double per_unit = 1 / levels.scale;
  const double unit = levels.scale * levels.scale * levels.scale / 12;
  const double enough = bound * (1 + 1e-9);  // rounding tolerance
  double sum = 0, edge = 0, at_edge = 0;     // intervals often touch
  for (const Span& span : spans_) {
    const double before = span.low == edge ? at_edge : integral(span.low * per_unit, levels);
    edge = span.high;
    at_edge = integral(edge * per_unit, levels);
    sum += span.density * (at_edge - before);
    if (sum * unit > enough) break;  // every interval increases the sum
  }
  return sum * unit;
}

}  // namespace anybit::calibrate
