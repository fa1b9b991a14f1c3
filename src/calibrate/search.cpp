#include "calibrate/search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace anybit::calibrate {
namespace {

// The tried fractions of the full range are powers of these constants rather than calls of pow(), which may
// differ between systems.
constexpr double kCoarse = 0.8408964152537145;  // 2^(-1/4)
constexpr double kFine = 0.9785720620877001;    // 2^(-1/32)

struct Search {
  Range whole;
  const Criterion& criterion;
  double low = 1, high = 1;  // fractions of the full range
  double least = 0;

  Range range(double low_part, double high_part) const {
    return {static_cast<float>(static_cast<double>(whole.low) * low_part),
            static_cast<float>(static_cast<double>(whole.high) * high_part)};
  }

  bool take(double low_part, double high_part) {
    if (low_part > 1 || high_part > 1) return false;
    const Range candidate = range(low_part, high_part);
    const double found = criterion.cost(candidate, least);
    if (!(found < least) || (criterion.allowed && !criterion.allowed(candidate))) return false;
    least = found;
    low = low_part;
    high = high_part;
    return true;
  }

  // Shrinks the range until the cost has increased for several steps.
  void draw_in() {
    constexpr int kSteps = 64, kPatience = 10;
    double part = 1;
    for (int step = 0, worse = 0; step < kSteps && worse < kPatience; ++step) {
      part *= kCoarse;
      worse = take(part, part) ? 0 : worse + 1;
    }
  }

  // Steps by `ratio` from the best range so far, in both directions.
  void refine(bool move_low, bool move_high, double ratio, int most) {
    const double low_part = low, high_part = high;
    for (const double step : {ratio, 1 / ratio}) {
      double part = step;
      for (int i = 0, worse = 0; i < most && worse < 2; ++i, part *= step) {
        const bool better = take(move_low ? low_part * part : low, move_high ? high_part * part : high);
        worse = better ? 0 : worse + 1;
      }
    }
  }
};

}  // namespace

Range full_range(const Statistics& statistics, const Grid& grid) {
  const float low = std::min(statistics.extent.min, 0.0f), high = std::max(statistics.extent.max, 0.0f);
  if (!grid.symmetric) return {low, high};
  const float reach = std::max(-low, high);
  return {-reach, reach};
}

Range best_range(const Statistics& statistics, const Grid& grid, const Criterion& criterion) {
  Search search{full_range(statistics, grid), criterion};
  search.least = criterion.cost(search.whole, std::numeric_limits<double>::infinity());
  search.draw_in();
  const bool two_ends = !grid.symmetric && search.whole.low < 0 && search.whole.high > 0;
  if (two_ends) {
    for (const double ratio : {kCoarse, kFine}) {
      search.refine(false, true, ratio, 8);
      search.refine(true, false, ratio, 8);
    }
  } else {
    search.refine(true, true, kFine, 8);
  }
  return search.range(search.low, search.high);
}

}  // namespace anybit::calibrate
