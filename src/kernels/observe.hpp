// What calibration wants to know of many floats: extremes, how many are special, and how often each pattern
// of their 16 leading bits (sign, exponent, 7 bits of the significand) occurs. All of it is exact and does
// not depend on any order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace anybit::kernels {

struct Extremes {
  float min = 0, max = 0;  // of the finite ones; zeros if there are none
  std::int64_t finite = 0, nans = 0, infinities = 0;
  std::int64_t zeros = 0;  // magnitudes below 2^-133, whose leading bits are those of zero
  // Leading bits without the sign: of the smallest magnitude that is not zero as above, and of the largest
  // finite one; the first is larger than the second if there are none.
  std::uint16_t smallest_top = 0x7FFF, largest_top = 0;
};

Extremes extremes(const float* x, std::size_t n);

// Counters for 2^16 patterns, four of each: neighbours in memory hit different ones, since a processor that
// adds to one counter many times in a row waits for each addition to be stored. The four lie apart by no
// power of two, so that they do not share places in the cache.
inline constexpr std::size_t kTopLanes = 4, kTopStride = 65536 + 272;
inline constexpr std::size_t kTopCounters = kTopLanes * kTopStride;
// A pattern's counters together cannot overflow below this many floats.
inline constexpr std::size_t kMostTops = std::size_t{1} << 31;

// Adds to table[pattern + lane · kTopStride].
void count_tops(const float* x, std::size_t n, std::span<std::uint32_t, kTopCounters> table);
// How often the patterns from `first` on occurred; their counters become zero. False if none did.
bool take_tops(std::span<std::uint32_t, kTopCounters> table, std::size_t first,
               std::span<std::uint32_t> sums);

}  // namespace anybit::kernels
