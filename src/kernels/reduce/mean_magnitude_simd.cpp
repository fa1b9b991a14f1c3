#include "kernels/reduce/mean_magnitude.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "formats/sums.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/mean_magnitude_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Sixteen interleaved partial sums, for any vector length; infinite or NaN if a value is.
double SumMagnitudes(const float* HWY_RESTRICT from, std::size_t count) {
  constexpr std::size_t kSums = 16;
  const hn::CappedTag<double, 8> d;
  const hn::Rebind<float, hn::CappedTag<double, 8>> df;
  constexpr std::size_t kLanes = hn::MaxLanes(hn::CappedTag<double, 8>());
  hn::Vec<hn::CappedTag<double, 8>> sums[kSums / kLanes];
  for (auto& sum : sums) sum = hn::Zero(d);
  std::size_t i = 0;
  for (; i + kSums <= count; i += kSums) {
    for (std::size_t v = 0; v < kSums / kLanes; ++v)
      sums[v] = hn::Add(sums[v], hn::PromoteTo(d, hn::Abs(hn::LoadU(df, from + i + v * kLanes))));
  }
  double all[kSums];
  for (std::size_t v = 0; v < kSums / kLanes; ++v) hn::StoreU(sums[v], d, all + v * kLanes);
  double total = 0;
  for (const double sum : all) total += sum;
  for (; i < count; ++i) total += std::fabs(static_cast<double>(from[i]));
  return total;
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

HWY_EXPORT(SumMagnitudes);

double mean_magnitude(std::span<const float> values, ThreadPool& pool) {
  constexpr std::size_t kParts = 64, kSmallest = 16384;
  const std::size_t size = std::max(kSmallest, (values.size() + kParts - 1) / kParts);
  std::array<formats::MagnitudeSum, kParts> parts;
  const std::size_t count = (values.size() + size - 1) / size;
  pool.run(static_cast<std::int64_t>(count), 1, [&](std::int64_t begin, std::int64_t end) {
    for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
      const auto mine = values.subspan(i * size, std::min(size, values.size() - i * size));
      parts[i].sum = HWY_DYNAMIC_DISPATCH(SumMagnitudes)(mine.data(), mine.size());
      parts[i].count = static_cast<std::int64_t>(mine.size());
      if (!std::isfinite(parts[i].sum)) parts[i] = formats::sum_magnitudes(mine);
    }
  });
  formats::MagnitudeSum all;
  for (std::size_t i = 0; i < count; ++i) {
    all.sum += parts[i].sum;
    all.count += parts[i].count;
  }
  return all.mean();
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
