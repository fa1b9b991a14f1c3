#include <bit>
#include <cstring>

#include "kernels/reduce/observe.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/observe_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using DU = hn::RebindToUnsigned<DF>;
using DI = hn::RebindToSigned<DF>;

constexpr std::uint32_t kMagnitude = 0x7FFFFFFF, kInfinity = 0x7F800000;
constexpr std::uint32_t kSmall = 0x00010000;  // the first magnitude whose leading bits are not zero

// Statistics of some of the floats. Magnitudes are compared as integers.
struct Part {
  float min, max;
  std::uint32_t largest;   // magnitude
  std::uint32_t smallest;  // magnitude - kSmall; wraps around for zeros
  std::int64_t zeros;
};

// At most as many as a 32-bit lane can count.
HWY_INLINE Part Look(const float* x, std::size_t n) {
  const DF d;
  const DU du;
  const DI di;
  const std::size_t lanes = hn::Lanes(d);
  Part part{x[0], x[0], 0, 0xFFFFFFFF, 0};
  auto min = hn::Set(d, x[0]), max = min;
  auto largest = hn::Zero(du), smallest = hn::Set(du, 0xFFFFFFFF);
  auto zeros = hn::Zero(di);
  const auto magnitude = hn::Set(du, kMagnitude), small = hn::Set(du, kSmall);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    const auto m = hn::And(hn::BitCast(du, v), magnitude);
    const auto above = hn::Sub(m, small);
    min = hn::Min(min, v);
    max = hn::Max(max, v);
    largest = hn::Max(largest, m);
    smallest = hn::Min(smallest, above);
    zeros = hn::Sub(zeros, hn::ShiftRight<31>(hn::BitCast(di, above)));
  }
  part.min = hn::GetLane(hn::MinOfLanes(d, min));
  part.max = hn::GetLane(hn::MaxOfLanes(d, max));
  part.largest = hn::GetLane(hn::MaxOfLanes(du, largest));
  part.smallest = hn::GetLane(hn::MinOfLanes(du, smallest));
  part.zeros = hn::GetLane(hn::SumOfLanes(di, zeros));
  for (; i < n; ++i) {
    const std::uint32_t m = std::bit_cast<std::uint32_t>(x[i]) & kMagnitude;
    const std::uint32_t above = m - kSmall;
    part.min = HWY_MIN(part.min, x[i]);
    part.max = HWY_MAX(part.max, x[i]);
    part.largest = HWY_MAX(part.largest, m);
    part.smallest = HWY_MIN(part.smallest, above);
    part.zeros += m < kSmall ? 1 : 0;
  }
  return part;
}

void AddFinite(const Part& part, std::int64_t count, Extremes& result) {
  // +0 and -0 are made equal, so that their order does not matter.
  const float min = part.min + 0.0f, max = part.max + 0.0f;
  result.min = result.finite == 0 ? min : HWY_MIN(result.min, min);
  result.max = result.finite == 0 ? max : HWY_MAX(result.max, max);
  result.finite += count;
  result.zeros += part.zeros;
  if (part.zeros == count) return;
  result.smallest_top =
      HWY_MIN(result.smallest_top, static_cast<std::uint16_t>((part.smallest + kSmall) >> 16));
  result.largest_top = HWY_MAX(result.largest_top, static_cast<std::uint16_t>(part.largest >> 16));
}

Extremes FindExtremes(const float* x, std::size_t n) {
  constexpr std::size_t kPart = 4096;
  Extremes result;
  for (std::size_t i = 0; i < n; i += kPart) {
    const std::size_t count = HWY_MIN(kPart, n - i);
    const Part part = Look(x + i, count);
    if (part.largest < kInfinity) {
      AddFinite(part, static_cast<std::int64_t>(count), result);
      continue;
    }
    for (std::size_t k = i; k < i + count; ++k) {
      const std::uint32_t m = std::bit_cast<std::uint32_t>(x[k]) & kMagnitude;
      result.nans += m > kInfinity ? 1 : 0;
      result.infinities += m == kInfinity ? 1 : 0;
      if (m < kInfinity) AddFinite(Look(x + k, 1), 1, result);
    }
  }
  return result;
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

HWY_EXPORT(FindExtremes);

Extremes extremes(const float* x, std::size_t n) { return HWY_DYNAMIC_DISPATCH(FindExtremes)(x, n); }

void count_tops(const float* x, std::size_t n, std::span<std::uint32_t, kTopCounters> table) {
  static_assert(kTopLanes == 4);
  std::uint32_t* counters = table.data();
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    std::uint64_t low = 0, high = 0;  // two floats each
    std::memcpy(&low, x + i, 8);
    std::memcpy(&high, x + i + 2, 8);
    ++counters[low >> 16 & 0xFFFF];
    ++counters[(low >> 48) + kTopStride];
    ++counters[(high >> 16 & 0xFFFF) + 2 * kTopStride];
    ++counters[(high >> 48) + 3 * kTopStride];
  }
  for (; i < n; ++i) ++counters[std::bit_cast<std::uint32_t>(x[i]) >> 16];
}

bool take_tops(std::span<std::uint32_t, kTopCounters> table, std::size_t first,
               std::span<std::uint32_t> sums) {
  std::uint32_t* counters = table.data() + first;
  std::uint32_t any = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i] =
        counters[i] + counters[i + kTopStride] + counters[i + 2 * kTopStride] + counters[i + 3 * kTopStride];
    any |= sums[i];
  }
  for (std::size_t lane = 0; any != 0 && lane < kTopLanes; ++lane) {
    std::memset(counters + lane * kTopStride, 0, sums.size_bytes());
  }
  return any != 0;
}

}  // namespace anybit::kernels
#endif
