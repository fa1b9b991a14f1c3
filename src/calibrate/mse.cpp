// mse: the range whose grid has the least squared error, clipping included. Values of a bin count as evenly
// spread over it, so that the error is an integral with a closed form rather than that of the bin's middle.
#include <algorithm>
#include <cmath>
#include <limits>

#include "calibrate/search.hpp"

namespace anybit::calibrate {
namespace {

struct Span {
  double low, high, density;
};

std::vector<Span> spans_of(const Statistics& statistics) {
  std::vector<Span> spans;
  for (const Bins::Bin& bin : statistics.bins.sorted()) {
    const double high = static_cast<double>(std::min(bin.high, statistics.max));
    double low = static_cast<double>(std::max(bin.low, statistics.min));
    low = std::min(low, high - 1e-6 * std::abs(high));  // a single value is a narrow span
    spans.push_back({low, high, static_cast<double>(bin.count) / (high - low)});
  }
  return spans;
}

// Codes of the grid: value = code · scale.
struct Codes {
  double scale, least, most;
};

Codes codes_of(const Range& range, const Grid& grid) {
  const double levels = std::max(grid.levels, 3), low = static_cast<double>(range.low);
  const double high = static_cast<double>(range.high);
  if (grid.symmetric) {
    const double most = std::floor((levels - 1) / 2);
    return {high / most, most - levels + 1, most};
  }
  const double scale = (high - low) / (levels - 1), zero = std::nearbyint(-low / scale);
  return {scale, -zero, levels - 1 - zero};
}

// ∫ (u − q(u))² du from 0 to t, where q(u) is the nearest code: every whole cell has 1/12, and what is beyond
// the last code belongs to its cell.
double integral(double t, const Codes& codes) {
  constexpr double kRound = 6755399441055744.0;  // 1.5 · 2^52: adding it rounds to a whole number
  const double nearest = std::clamp(t, codes.least, codes.most) + kRound - kRound;
  const double away = t - nearest;
  return nearest / 12 + away * away * away / 3;
}

double error(std::span<const Span> spans, const Codes& codes) {
  if (!(codes.scale >= static_cast<double>(std::numeric_limits<float>::min())))
    return std::numeric_limits<double>::infinity();
  double sum = 0;
  for (const Span& span : spans) {
    sum +=
        span.density * (integral(span.high / codes.scale, codes) - integral(span.low / codes.scale, codes));
  }
  return sum * codes.scale * codes.scale * codes.scale;
}

Range choose(const Statistics& statistics, const Grid& grid, const Parameters&) {
  const std::vector<Span> spans = spans_of(statistics);
  return best_range(statistics, grid,
                    [&](const Range& range) { return error(spans, codes_of(range, grid)); });
}

}  // namespace

std::span<const Descriptor> mse_descriptors() {
  static const Descriptor all[] = {{.name = "mse",
                                    .summary = "the range whose grid has the least squared error",
                                    .needs_bins = true,
                                    .choose = choose}};
  return all;
}

}  // namespace anybit::calibrate
