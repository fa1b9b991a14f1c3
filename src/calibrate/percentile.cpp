// percentile: as much as a given share of the values needs; half of the rest is clipped on each side, or all
// of it by magnitude if the grid is symmetric. Ranks are as numpy's; within a bin values count as evenly
// spread.
#include <algorithm>
#include <cmath>
#include <utility>

#include "calibrate/table.hpp"

namespace anybit::calibrate {
namespace {

constexpr std::size_t kTypical = 4096;  // bins that are not empty

struct Run {
  double low, high, count;
};

// The value of a whole rank in sorted runs.
double ranked(std::span<const Run> runs, double rank) {
  double before = 0;
  for (const Run& run : runs) {
    if (rank < before + run.count) return run.low + (rank - before + 0.5) / run.count * (run.high - run.low);
    before += run.count;
  }
  return runs.empty() ? 0 : runs.back().high;
}

double quantile(std::span<const Run> runs, double share) {
  double total = 0;
  for (const Run& run : runs) total += run.count;
  const double rank = share * (total - 1), whole = std::floor(rank);
  const double below = ranked(runs, whole);
  return below + (rank - whole) * (ranked(runs, whole + 1) - below);
}

// Both bins of a magnitude, zeros first.
std::vector<Run> by_magnitude(const Statistics& statistics) {
  std::vector<Run> runs;
  if (statistics.zeros > 0) runs.push_back({0, 0, static_cast<double>(statistics.zeros)});
  for (std::size_t page = 0; page < Bins::kPages / 2; ++page) {
    const Bins::Page* sides[] = {statistics.bins.page(page), statistics.bins.page(page + Bins::kPages / 2)};
    for (std::size_t i = 0; (sides[0] || sides[1]) && i < Bins::kPerPage; ++i) {
      const std::uint64_t count = (sides[0] ? (*sides[0])[i] : 0) + (sides[1] ? (*sides[1])[i] : 0);
      if (count == 0) continue;
      const auto top = static_cast<std::uint16_t>(page * Bins::kPerPage + i);
      runs.push_back({static_cast<double>(lower_edge(top)), static_cast<double>(upper_edge(top)),
                      static_cast<double>(count)});
    }
  }
  return runs;
}

std::vector<Run> by_value(const Statistics& statistics) {
  std::vector<Run> runs;
  runs.reserve(kTypical);
  bool zeros_wait = statistics.zeros > 0;
  const auto add_zeros = [&] {
    if (std::exchange(zeros_wait, false)) runs.push_back({0, 0, static_cast<double>(statistics.zeros)});
  };
  statistics.bins.each([&](const Bins::Bin& bin) {
    if (bin.low >= 0) add_zeros();
    runs.push_back(
        {static_cast<double>(bin.low), static_cast<double>(bin.high), static_cast<double>(bin.count)});
  });
  add_zeros();
  return runs;
}

Range choose(const Statistics& statistics, const Grid& grid, const Parameters& parameters) {
  const double share = std::clamp(parameters.percentile / 100, 0.0, 1.0);
  if (grid.symmetric) {
    const std::vector<Run> runs = by_magnitude(statistics);
    const float largest = std::max(std::abs(statistics.min), std::abs(statistics.max));
    const float reach = share < 1 ? std::min(static_cast<float>(quantile(runs, share)), largest) : largest;
    return {-reach, reach};
  }
  if (share == 1) return {statistics.min, statistics.max};
  const std::vector<Run> runs = by_value(statistics);
  const double cut = (1 - share) / 2;
  const auto at = [&](double where) {
    return std::clamp(static_cast<float>(quantile(runs, where)), statistics.min, statistics.max);
  };
  return {at(cut), at(1 - cut)};
}

}  // namespace

std::span<const Descriptor> percentile_descriptors() {
  static const Descriptor all[] = {{.name = "percentile",
                                    .summary = "what a share of the values needs; the rest is clipped",
                                    .needs_bins = true,
                                    .choose = choose}};
  return all;
}

}  // namespace anybit::calibrate
