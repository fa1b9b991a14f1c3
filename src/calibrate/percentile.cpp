// percentile: the range that holds a given percentage of the values. Half of the rest is clipped on each side
// or, if the grid is symmetric, all of it by magnitude. Ranks are those of numpy; values are assumed evenly
// distributed within their bin.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "calibrate/table.hpp"

namespace anybit::calibrate {
namespace {

struct Run {
  double low, high, count;
};

// A run of consecutive bins: a page in rising or falling order, or two pages of the same magnitudes in rising
// order; zeros if it has no page. Most pages are skipped by their total count, which is exact.
struct Stretch {
  const Bins::Page *rising = nullptr, *other = nullptr;
  std::size_t page = 0;
  double count = 0;

  // Visits its nonempty bins in order, until `see` returns true.
  template <class See>
  void find(const See& see) const {
    if (!rising && !other) {
      see(Run{0, 0, count});
      return;
    }
    const bool falls = !rising;  // negative values, from the largest magnitude to the smallest
    for (std::size_t k = 0; k < Bins::kPerPage; ++k) {
      const std::size_t i = falls ? Bins::kPerPage - 1 - k : k;
      const std::uint64_t n = (rising ? (*rising)[i] : 0) + (other ? (*other)[i] : 0);
      if (n == 0) continue;
      const auto top = static_cast<std::uint16_t>(page * Bins::kPerPage + i);
      const auto low = static_cast<double>(lower_edge(top)), high = static_cast<double>(upper_edge(top));
      if (see(falls ? Run{-high, -low, static_cast<double>(n)} : Run{low, high, static_cast<double>(n)}))
        return;
    }
  }
};

class Ranks {
 public:
  static Ranks by_magnitude(const Statistics& statistics) {
    Ranks ranks;
    ranks.add_zeros(statistics);
    for (std::size_t page = 0; page < kHalf; ++page) {
      const Bins::Page *one = statistics.bins.page(page), *other = statistics.bins.page(page + kHalf);
      ranks.add(one ? one : other, one ? other : nullptr, page);
    }
    return ranks;
  }

  static Ranks by_value(const Statistics& statistics) {
    Ranks ranks;
    for (std::size_t page = kHalf; page-- > 0;) ranks.add(nullptr, statistics.bins.page(page + kHalf), page);
    ranks.add_zeros(statistics);
    for (std::size_t page = 0; page < kHalf; ++page) ranks.add(statistics.bins.page(page), nullptr, page);
    return ranks;
  }

  double quantile(double share) const {
    const double rank = share * (total_ - 1), whole = std::floor(rank);
    const double below = ranked(whole);
    return below + (rank - whole) * (ranked(whole + 1) - below);
  }

 private:
  static constexpr std::size_t kHalf = Bins::kPages / 2;

  void add(const Bins::Page* rising, const Bins::Page* other, std::size_t page) {
    std::uint64_t count = 0;
    for (const Bins::Page* one : {rising, other}) {
      if (one) count = std::accumulate(one->begin(), one->end(), count);
    }
    if (count > 0) add({rising, other, page, static_cast<double>(count)});
  }
  void add_zeros(const Statistics& statistics) {
    if (statistics.extent.zeros > 0) add({.count = static_cast<double>(statistics.extent.zeros)});
  }
  void add(const Stretch& stretch) {
    stretches_.push_back(stretch);
    total_ += stretch.count;
  }

  // The value at an integer rank; the largest value if the rank is too high.
  double ranked(double rank) const {
    double before = 0, value = 0;
    for (const Stretch& stretch : stretches_) {
      const bool here = rank < before + stretch.count;
      if (here || &stretch == &stretches_.back()) {
        stretch.find([&](const Run& run) {
          const bool found = rank < before + run.count;
          value = found ? run.low + (rank - before + 0.5) / run.count * (run.high - run.low) : run.high;
          before += run.count;
          return found;
        });
      } else {
        before += stretch.count;
      }
      if (here) break;
    }
    return value;
  }

  std::vector<Stretch> stretches_;
  double total_ = 0;
};

Range choose(const Statistics& statistics, const Grid& grid, const Parameters& parameters) {
  const double share = std::clamp(parameters.percentile / 100, 0.0, 1.0);
  if (grid.symmetric) {
    const float largest = std::max(std::abs(statistics.extent.min), std::abs(statistics.extent.max));
    if (!(share < 1)) return {-largest, largest};
    const auto reach = static_cast<float>(Ranks::by_magnitude(statistics).quantile(share));
    return {-std::min(reach, largest), std::min(reach, largest)};
  }
  if (share == 1) return {statistics.extent.min, statistics.extent.max};
  const Ranks ranks = Ranks::by_value(statistics);
  const double cut = (1 - share) / 2;
  const auto at = [&](double where) {
    return std::clamp(static_cast<float>(ranks.quantile(where)), statistics.extent.min,
                      statistics.extent.max);
  };
  return {at(cut), at(1 - cut)};
}

}  // namespace

std::span<const Descriptor> percentile_descriptors() {
  static const Descriptor all[] = {{.name = "percentile",
                                    .summary = "the range of a percentile of the values; the rest is clipped",
                                    .needs = "bins",
                                    .choose = choose}};
  return all;
}

}  // namespace anybit::calibrate
