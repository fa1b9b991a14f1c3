// Quantized weights against their definition, for every SIMD target of this CPU.
#include "kernels/codec/integer_weights.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "hwy/highway.h"

namespace anybit::kernels {
namespace {

constexpr unsigned kSeed = 20261117;

class WeightsOnEveryTarget : public ::testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }

  float number() { return normal_(random_); }
  std::vector<float> numbers(std::size_t n) {
    std::vector<float> list(n);
    std::ranges::generate(list, [this] { return number(); });
    return list;
  }

  std::mt19937 random_{kSeed};
  std::normal_distribution<float> normal_;
};

std::int32_t expected(float x, float scale, std::int32_t zero_point, const CodeRange& range) {
  const double code = std::nearbyint(static_cast<double>(x / scale)) + zero_point;
  return static_cast<std::int32_t>(std::clamp<double>(code, range.low, range.high));
}

// Scales slightly too small, so that some values saturate; some values at midpoints.
template <class Q>
void check(const CodeRange& range, std::size_t step, std::vector<float> x, std::mt19937& random) {
  const std::size_t n = x.size(), count = step == 0 ? 1 : n;
  std::vector<float> scales(count);
  std::vector<std::int32_t> zeros(count);
  for (float& scale : scales)
    scale = (1 + static_cast<float>(random() % 1000) / 1000) / static_cast<float>(range.high);
  for (std::int32_t& zero : zeros)
    zero =
        range.low + static_cast<std::int32_t>(random() % static_cast<unsigned>(range.high - range.low + 1));
  for (std::size_t i = 0; i < n; i += 3) x[i] = (static_cast<float>(i % 5) - 2.5f) * scales[i * step];
  std::vector<Q> quantized(n + 1, Q{77});
  const Loss loss = code(x.data(), {scales.data(), zeros.data(), step}, range, quantized.data(), n);
  double signal = 0, noise = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t wanted = expected(x[i], scales[i * step], zeros[i * step], range);
    ASSERT_EQ(int{quantized[i]}, wanted & range.mask)
        << x[i] << ", " << i << " of " << n << ", seed " << kSeed;
    const float value = static_cast<float>(wanted - zeros[i * step]) * scales[i * step];
    signal += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    noise += std::pow(static_cast<double>(x[i]) - static_cast<double>(value), 2);
  }
  EXPECT_EQ(int{quantized[n]}, 77);
  EXPECT_NEAR(loss.signal, signal, 1e-5 * signal);
  EXPECT_NEAR(loss.noise, noise, 1e-4 * noise + 1e-12 * signal);
}

TEST_P(WeightsOnEveryTarget, QuantizedValuesAreRoundedQuotientsWithinTheirRange) {
  for (std::size_t n = 0; n < 70; ++n) {
    for (const std::size_t step : {0U, 1U}) {
      if (n == 0 && step == 1) continue;
      check<std::int8_t>({-128, 127, -1}, step, numbers(n), random_);
      check<std::uint8_t>({0, 255, -1}, step, numbers(n), random_);
      check<std::int16_t>({-32768, 32767, -1}, step, numbers(n), random_);
      check<std::uint16_t>({0, 65535, -1}, step, numbers(n), random_);
      check<std::uint8_t>({-8, 7, 15}, step, numbers(n), random_);
      check<std::uint8_t>({-2, 1, 3}, step, numbers(n), random_);
      check<std::uint8_t>({0, 15, 15}, step, numbers(n), random_);
    }
  }
}

TEST_P(WeightsOnEveryTarget, SumsAreBitIdentical) {
  const std::vector<float> x = numbers(1003);
  const float scale = 0.031f;
  const std::int32_t zero = 3;
  std::vector<std::int8_t> quantized(x.size());
  const Loss here = code(x.data(), {&scale, &zero, 0}, {}, quantized.data(), x.size());
  hwy::SetSupportedTargetsForTest(0);
  const Loss best = code(x.data(), {&scale, &zero, 0}, {}, quantized.data(), x.size());
  EXPECT_EQ(here.signal, best.signal);
  EXPECT_EQ(here.noise, best.noise);
}

TEST_P(WeightsOnEveryTarget, RangesAreWidenedToContainEveryValue) {
  for (std::size_t n = 0; n < 70; ++n) {
    const std::vector<float> x = numbers(n);
    float low = 0, high = 0.5f, lowest = 0, highest = 0.5f, largest = 0;
    std::vector<float> lows(n + 1), highs(n + 1, 0.25f);
    const std::uint32_t bits = widen(x.data(), n, &low, &high, 0);
    EXPECT_EQ(widen(x.data(), n, lows.data(), highs.data(), 1), bits);
    for (std::size_t i = 0; i < n; ++i) {
      lowest = std::min(lowest, x[i]);
      highest = std::max(highest, x[i]);
      largest = std::max(largest, std::abs(x[i]));
      EXPECT_EQ(lows[i], std::min(0.0f, x[i]));
      EXPECT_EQ(highs[i], std::max(0.25f, x[i]));
    }
    EXPECT_EQ(low, lowest);
    EXPECT_EQ(high, highest);
    EXPECT_EQ(bits, std::bit_cast<std::uint32_t>(largest)) << n << " values, seed " << kSeed;
    EXPECT_EQ(lows[n], 0.0f);
    EXPECT_EQ(highs[n], 0.25f);
  }
}

TEST_P(WeightsOnEveryTarget, NanAndInfinityShowInTheLargestMagnitude) {
  for (std::size_t at = 0; at < 40; ++at) {
    for (const std::size_t step : {0U, 1U}) {
      std::vector<float> x = numbers(40), low(40), high(40);
      x[at] = -std::numeric_limits<float>::infinity();
      EXPECT_EQ(widen(x.data(), x.size(), low.data(), high.data(), step), 0x7F800000U);
      x[at] = std::numeric_limits<float>::quiet_NaN();
      EXPECT_GT(widen(x.data(), x.size(), low.data(), high.data(), step), 0x7F800000U);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, WeightsOnEveryTarget, ::testing::ValuesIn(hwy::SupportedAndGeneratedTargets()));

}  // namespace
}  // namespace anybit::kernels
