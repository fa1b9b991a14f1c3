// QuantizeLinear's kernel against its definition, for every SIMD target of this CPU.
#include "kernels/elementwise/quantize.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "hwy/highway.h"

namespace anybit::kernels {
namespace {

constexpr unsigned kSeed = 20261116;

template <class Q>
Q expected(float x, float scale, std::int32_t zero_point) {
  const float quotient = x / scale;
  if (std::isnan(quotient)) return static_cast<Q>(zero_point);
  const double code = std::nearbyint(static_cast<double>(quotient)) + zero_point;
  return static_cast<Q>(
      std::clamp<double>(code, std::numeric_limits<Q>::min(), std::numeric_limits<Q>::max()));
}

// Values at and around midpoints, where the last bit of the quotient decides; and special values.
std::vector<float> numbers(float scale, std::mt19937& random) {
  std::vector<float> all = {0.0f,
                            -0.0f,
                            std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN(),
                            std::numeric_limits<float>::max(),
                            std::numeric_limits<float>::denorm_min()};
  for (int code = -260; code < 260; ++code) {
    float x = (static_cast<float>(code) + 0.5f) * scale;
    for (int i = 0; i < 3; ++i) x = std::nextafter(x, -std::numeric_limits<float>::infinity());
    for (int i = 0; i < 7; ++i) {
      all.push_back(x);
      x = std::nextafter(x, std::numeric_limits<float>::infinity());
    }
  }
  std::uniform_real_distribution<float> spread(-300, 300);
  for (int i = 0; i < 1000; ++i) all.push_back(spread(random) * scale);
  return all;
}

template <class Q>
void check(float scale, std::int32_t zero_point, std::mt19937& random) {
  const std::vector<float> x = numbers(scale, random);
  std::vector<Q> quantized(x.size());
  quantize(x.data(), {&scale, &zero_point, 0}, quantized.data(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(int{quantized[i]}, int{expected<Q>(x[i], scale, zero_point)})
        << x[i] << " / " << scale << " + " << zero_point << ", seed " << kSeed;
  }
}

TEST(Quantize, RoundsTheQuotientHalfToEvenOnEveryTarget) {
  std::mt19937 random(kSeed);
  std::vector<float> scales = {1.0f, 0.03f, 1e-3f, 3e38f, 1e-39f, 2e-38f};
  for (int i = 0; i < 30; ++i)
    scales.push_back(std::ldexp(1 + static_cast<float>(random() % 8388608) / 8388608, -5));
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    for (const float scale : scales) {
      check<std::uint8_t>(scale, 0, random);
      check<std::uint8_t>(scale, 255, random);
      check<std::int8_t>(scale, -3, random);
      check<std::uint16_t>(scale, 32768, random);
      check<std::int16_t>(scale, -3, random);
      if (testing::Test::HasFatalFailure()) break;
    }
  }
  hwy::SetSupportedTargetsForTest(0);
}

}  // namespace
}  // namespace anybit::kernels
