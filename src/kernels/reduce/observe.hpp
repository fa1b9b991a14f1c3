// Statistics for calibration: extremes, counts of special values, and a histogram of the 16 leading bits
// (sign, exponent, 7 bits of the significand). All are exact and independent of order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace anybit::kernels {

struct Extremes {
  float min = 0, max = 0;  // of the finite values; zeros if there are none
  std::int64_t finite = 0, nans = 0, infinities = 0;
  std::int64_t zeros = 0;  // magnitudes below 2^-133, whose leading bits are those of zero
  // Leading bits without the sign: of the smallest magnitude that is not zero in the sense above, and of the
  // largest finite magnitude. The first is larger than the second if there are none.
  std::uint16_t smallest_top = 0x7FFF, largest_top = 0;
};

Extremes extremes(const float* x, std::size_t n);

// Counters for 2^16 patterns, in four copies: adjacent elements use different copies, because repeated
// additions to one counter wait for store forwarding. The copies are not a power of two apart, to avoid cache
// set conflicts.
inline constexpr std::size_t kTopLanes = 4, kTopStride = 65536 + 272;
inline constexpr std::size_t kTopCounters = kTopLanes * kTopStride;
// The copies of a pattern together cannot overflow below this many floats.
inline constexpr std::size_t kMostTops = std::size_t{1} << 31;

// Adds to table[pattern + lane · kTopStride].
void count_tops(const float* x, std::size_t n, std::span<std::uint32_t, kTopCounters> table);
// Moves the counts of the patterns from `first` on to `sums` and resets them. False if all are zero.
bool take_tops(std::span<std::uint32_t, kTopCounters> table, std::size_t first,
               std::span<std::uint32_t> sums);

}  // namespace anybit::kernels
