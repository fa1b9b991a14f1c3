// entropy: the range with the smallest Kullback-Leibler divergence between the clipped distribution and its
// quantized version, in which every quantization level spreads its values evenly over its nonempty bins.
// Zeros are excluded: every grid represents them exactly, and the many zeros after a ReLU would dominate.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "base/math.hpp"
#include "calibrate/grid_error.hpp"
#include "calibrate/search.hpp"

namespace anybit::calibrate {
namespace {

// Over all values between zero and some point: their number, the width of their bins, and Σ n · log(n /
// width).
struct Sum {
  double count = 0, room = 0, information = 0;
};
Sum operator-(const Sum& a, const Sum& b) {
  return {a.count - b.count, a.room - b.room, a.information - b.information};
}

// Prefix sums over one side of zero, indexed by the upper bits of the point.
class Side {
 public:
  // `sign`: 0, or 0x8000 for negative values. Magnitudes below `fine` form one bin: below it there are many
  // bins with few values each, which no grid distinguishes.
  Side(const Statistics& statistics, std::uint16_t sign, float fine, float largest)
      : first_(top_of(fine)), largest_(largest) {
    const std::uint16_t last = largest > 0 ? top_of(largest) : 0;
    if (last < first_ || largest <= 0) return;
    const std::uint64_t below = statistics.bins.count_between(sign, sign | first_);
    sums_.resize(std::size_t{last} - first_ + 2U);
    Sum sum = sums_[0] = added({}, below, static_cast<double>(lower_edge(first_)));
    const Bins::Page* page = nullptr;
    for (std::uint16_t top = first_; top <= last; ++top) {
      const std::size_t in_page = top % Bins::kPerPage;
      if (top == first_ || in_page == 0)
        page = statistics.bins.page(static_cast<std::size_t>(sign | top) / Bins::kPerPage);
      if (const std::uint64_t count = page ? (*page)[in_page] : 0; count > 0)
        sum = added(sum, count, static_cast<double>(upper_edge(top)) - static_cast<double>(lower_edge(top)));
      sums_[top - first_ + 1U] = sum;
    }
  }

  Sum total() const { return sums_.empty() ? Sum() : sums_.back(); }

  Sum up_to(float magnitude) const {
    if (sums_.empty() || magnitude <= 0) return {};
    if (magnitude >= largest_) return sums_.back();
    const std::uint16_t top = top_of(magnitude);
    if (top < first_) return between({}, sums_[0], magnitude / lower_edge(first_));
    const std::size_t i = std::size_t{top} - first_;
    const float low = lower_edge(top);
    return between(sums_[i], sums_[i + 1], (magnitude - low) / (upper_edge(top) - low));
  }

 private:
  static std::uint16_t top_of(float magnitude) {
    return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(magnitude) >> 16);
  }
  static Sum added(Sum sum, std::uint64_t count, double room) {
    if (count == 0 || room <= 0) return sum;
    const auto n = static_cast<double>(count);
    return {sum.count + n, sum.room + room, sum.information + n * math::log(n / room)};
  }
  static Sum between(const Sum& a, const Sum& b, float part) {
    const auto share = static_cast<double>(part);
    return {a.count + share * (b.count - a.count), a.room + share * (b.room - a.room),
            a.information + share * (b.information - a.information)};
  }

  std::uint16_t first_;
  float largest_;
  std::vector<Sum> sums_;  // up to the lower edge of bin first_ + i
};

struct Distribution {
  Side negative, positive;
  double total;

  // Between zero and x; the negative side for x < 0.
  Sum up_to(float x) const { return x < 0 ? Sum() - negative.up_to(-x) : positive.up_to(x); }
};

// The cost of `clipped` values that saturate to a level which has the values `level` itself.
double clipping(const Sum& level, double clipped, double kept, double total) {
  if (clipped <= 0) return 0;
  const double own = std::max(level.count, 0.5);
  const double growth = (own + clipped) / own;
  double inner = 0;
  if (level.count > 0 && level.room > 0)
    inner = level.information - level.count * math::log(level.count / level.room * total / kept);
  return (growth - 1) * inner + (own + clipped) * math::log(growth);
}

// Above `bound` the result may be any number above it. Spreading a level evenly never has a negative cost, so
// that the loop stops as soon as the sum exceeds the bound.
double divergence(const Distribution& values, const Range& range, int levels, double bound) {
  const double low = static_cast<double>(range.low), step = (static_cast<double>(range.high) - low) / levels;
  const Sum begin = values.up_to(range.low), end = values.up_to(range.high);
  const Sum inside = end - begin;
  if (!(inside.count > 0) || !(step > 0)) return std::numeric_limits<double>::infinity();
  const auto edge = [&](int i) {
    return i < levels ? values.up_to(static_cast<float>(low + i * step)) : end;
  };
  const Sum second = edge(1), last_but_one = levels > 1 ? edge(levels - 1) : begin;
  const double above = values.positive.total().count - end.count;
  const double below = values.negative.total().count + begin.count;
  const double clipped = inside.count * math::log(inside.count / values.total) +
                         clipping(end - last_but_one, above, inside.count, values.total) +
                         clipping(second - begin, below, inside.count, values.total);
  const double slack = 1e-9 * (std::abs(inside.information) + std::abs(clipped));  // rounding tolerance
  double kept = 0;
  Sum at = begin;
  for (int i = 0; i < levels; ++i) {
    const Sum next = edge(i + 1), level = next - at;
    if (level.count > 0 && level.room > 0) kept += level.count * math::log(level.count / level.room);
    at = next;
    const double so_far = at.information - begin.information - kept + clipped;
    if (so_far > bound + slack) return so_far;
  }
  return inside.information - kept + clipped;
}

Range choose(const Statistics& statistics, const Grid& grid, const Parameters&) {
  constexpr int kMany = 4096;  // at this many levels clipping gains nothing
  const Range whole = full_range(statistics, grid);
  const float largest = std::max(-whole.low, whole.high);
  if (grid.levels > kMany || largest <= 0) return whole;
  const float fine = std::max(largest * 0x1p-14f, std::numeric_limits<float>::min());
  Distribution values{Side(statistics, 0x8000, fine, -std::min(statistics.extent.min, 0.0f)),
                      Side(statistics, 0, fine, std::max(statistics.extent.max, 0.0f)), 0};
  values.total = values.negative.total().count + values.positive.total().count;
  // The divergence counts clipped values, but not how far they are clipped: if a few large values matter
  // most, as after a Softmax, it would clip them. More than a few are only clipped if the squared error
  // decreases, too.
  constexpr double kHandful = 1e-5;
  std::optional<GridError> error;  // computed on first use
  double most = 0;
  const auto shrinks = [&](const Range& range) {
    if (!error) most = error.emplace(statistics, grid).of(whole);
    return error->of(range, most) <= most;
  };
  const auto allowed = [&](const Range& range) {
    const Sum inside = values.up_to(range.high) - values.up_to(range.low);
    const double clipped = values.total - inside.count;
    return clipped <= kHandful * static_cast<double>(statistics.extent.finite()) || shrinks(range);
  };
  const auto cost = [&](const Range& range, double bound) {
    return divergence(values, range, std::max(grid.levels, 2), bound);
  };
  return best_range(statistics, grid, {cost, allowed});
}

}  // namespace

std::span<const Descriptor> entropy_descriptors() {
  static const Descriptor all[] = {
      {.name = "entropy",
       .summary = "the range with the smallest Kullback-Leibler divergence from the distribution",
       .needs = "bins",
       .choose = choose}};
  return all;
}

}  // namespace anybit::calibrate
