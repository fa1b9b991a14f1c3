// Mean magnitudes against those that formats choose scales by, for every SIMD target of this CPU.
#include "kernels/reduce/mean_magnitude.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "formats/sums.hpp"
#include "hwy/highway.h"

namespace anybit::kernels {
namespace {

constexpr unsigned kSeed = 20261116;

class MeanOnEveryTarget : public ::testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
};

std::vector<float> normal_values(std::size_t count) {
  std::mt19937 random(kSeed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& x : values) x = normal(random);
  return values;
}

TEST_P(MeanOnEveryTarget, EqualsThatOfTheFormats) {
  ThreadPool pool(2);
  for (const std::size_t count : {0u, 1u, 15u, 16u, 33u, 16385u, 1100000u}) {
    const auto values = normal_values(count);
    const double expected = formats::sum_magnitudes(values).mean();
    EXPECT_NEAR(mean_magnitude(values, pool), expected, 1e-14) << count << " values, seed " << kSeed;
  }
}

TEST_P(MeanOnEveryTarget, IgnoresNanAndInfinity) {
  ThreadPool pool(2);
  auto values = normal_values(50000);
  values[7] = INFINITY;
  values[40000] = std::nanf("");
  EXPECT_NEAR(mean_magnitude(values, pool), formats::sum_magnitudes(values).mean(), 1e-14);
  EXPECT_EQ(mean_magnitude(std::vector<float>{INFINITY}, pool), 0);
}

TEST(MeanMagnitude, IsTheSameForAnyThreadsAndTarget) {
  const auto values = normal_values(300001);
  ThreadPool one(1), two(2);
  const double expected = mean_magnitude(values, one);
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    EXPECT_EQ(mean_magnitude(values, two), expected) << hwy::TargetName(target);
  }
  hwy::SetSupportedTargetsForTest(0);
}

INSTANTIATE_TEST_SUITE_P(Simd, MeanOnEveryTarget, ::testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& info) { return std::string(hwy::TargetName(info.param)); });

}  // namespace
}  // namespace anybit::kernels
