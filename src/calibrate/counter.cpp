#include "calibrate/counter.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "calibrate/bins.hpp"

namespace anybit::calibrate {
namespace {

constexpr std::uint16_t kSign = 0x8000, kInfinity = 0x7F80;

void count_few(const float* x, std::size_t n, Bins& bins) {
  for (std::size_t i = 0; i < n; ++i) {
    const auto key = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x[i]) >> 16);
    const int top = key & ~kSign;
    if (top != 0 && top < kInfinity) bins.add(key, 1);
  }
}

}  // namespace

Counter::Counter() : table_(std::make_unique<std::uint32_t[]>(kernels::kTopCounters)) {}

void Counter::count(const float* x, std::size_t n, const kernels::Extremes& seen, Bins& bins,
                    std::mutex& guard) {
  // A few values are counted faster one by one than by reading the pages of the table.
  const std::size_t pages = 1 + std::size_t{seen.largest_top} / Bins::kPerPage -
                            std::min(seen.smallest_top, seen.largest_top) / Bins::kPerPage;
  if (n < 32 * pages) {
    const std::lock_guard lock(guard);
    return count_few(x, n, bins);
  }
  for (std::size_t i = 0; i < n; i += kernels::kMostTops) {
    kernels::count_tops(x + i, std::min(kernels::kMostTops, n - i),
                        std::span<std::uint32_t, kernels::kTopCounters>(table_.get(), kernels::kTopCounters));
    const std::lock_guard lock(guard);
    flush(seen, bins);
  }
}

// Adds the pages between the smallest and the largest magnitude, of both signs. Zeros, infinities and NaN are
// counted elsewhere.
void Counter::flush(const kernels::Extremes& seen, Bins& bins) {
  const std::span<std::uint32_t, kernels::kTopCounters> table(table_.get(), kernels::kTopCounters);
  std::array<std::uint32_t, Bins::kPerPage> sums{};
  for (const std::size_t sign : {std::size_t{0}, std::size_t{kSign}}) {
    kernels::take_tops(table, sign, std::span(sums).first(1));
    if (seen.nans + seen.infinities > 0) kernels::take_tops(table, sign + kInfinity, sums);
    if (sign == 0 ? seen.max <= 0 : seen.min >= 0) continue;  // no values of this sign
    for (std::size_t page = seen.smallest_top / Bins::kPerPage; page <= seen.largest_top / Bins::kPerPage;
         ++page) {
      const std::size_t first = sign + page * Bins::kPerPage;
      if (!kernels::take_tops(table, first, sums)) continue;
      Bins::Page& target = bins.make_page(first / Bins::kPerPage);
      for (std::size_t i = 0; i < Bins::kPerPage; ++i) target[i] += sums[i];
    }
  }
}

}  // namespace anybit::calibrate
