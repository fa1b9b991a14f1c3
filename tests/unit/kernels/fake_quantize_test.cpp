// Fake quantization against plain loops of its definition.
#include "kernels/codec/fake_quantize.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace anybit::kernels {
namespace {

std::vector<float> random_values(std::size_t count, unsigned seed, float spread) {
  std::minstd_rand random(seed + 1);
  std::uniform_real_distribution<float> one(-spread, spread);
  std::vector<float> all(count);
  for (float& x : all) x = one(random);
  return all;
}

struct Expected {
  float value, dx;
  double step, zero_point;
};

Expected expected(float x, float dy, float step, float low, float high) {
  const float nearest = std::nearbyint(x / step);
  const float held = std::min(std::max(nearest, low), high);
  if (nearest == held) return {held * step, dy, static_cast<double>(dy * (nearest - x / step)), 0};
  return {held * step, 0, static_cast<double>(dy * held), static_cast<double>(-dy * step)};
}

TEST(FakeQuantize, IsItsDefinitionAtEveryLength) {
  for (const std::int64_t n : {0, 1, 3, 7, 8, 17, 33, 5000}) {
    const auto x = random_values(static_cast<std::size_t>(n), 1, 3), dy = random_values(x.size(), 2, 1);
    const FakeQuantization as{-3, 12};
    const float step = 0.125F;
    std::vector<float> out(x.size()), dx(x.size());
    fake_quantize(as, x.data(), n, step, out.data());
    const StepGradient sums = fake_quantize_gradient(as, x.data(), dy.data(), n, step, dx.data());
    double by_step = 0, by_zero = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Expected one = expected(x[i], dy[i], step, as.low, as.high);
      ASSERT_EQ(out[i], one.value) << n << " values, value " << i;
      ASSERT_EQ(dx[i], one.dx) << n << " values, value " << i;
      by_step += one.step;
      by_zero += one.zero_point;
    }
    EXPECT_NEAR(sums.step, by_step, 1e-3 * (1 + std::abs(by_step)));
    EXPECT_NEAR(sums.zero_point, by_zero, 1e-3 * (1 + std::abs(by_zero)));
  }
}

TEST(FakeQuantize, EachValueMayHaveItsOwnStep) {
  constexpr std::size_t kCount = 21;
  const auto x = random_values(kCount, 3, 2), dy = random_values(kCount, 4, 1);
  std::vector<float> step(kCount), low(kCount), high(kCount), out(kCount), dx(kCount), steps(kCount),
      zeros(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    step[i] = 0.05F * static_cast<float>(i + 1);
    low[i] = -static_cast<float>(i % 5);
    high[i] = static_cast<float>(3 + i % 4);
  }
  fake_quantize_each(low.data(), high.data(), x.data(), kCount, step.data(), out.data());
  fake_quantize_gradient_each(low.data(), high.data(), x.data(), dy.data(), kCount, step.data(), dx.data(),
                              steps.data(), zeros.data());
  for (std::size_t i = 0; i < kCount; ++i) {
    const Expected one = expected(x[i], dy[i], step[i], low[i], high[i]);
    EXPECT_EQ(out[i], one.value) << i;
    EXPECT_EQ(dx[i], one.dx) << i;
    EXPECT_FLOAT_EQ(steps[i], static_cast<float>(one.step)) << i;
    EXPECT_FLOAT_EQ(zeros[i], static_cast<float>(one.zero_point)) << i;
  }
}

// The last integer times the step is inside: the second of two quantizers in a row passes all gradients.
TEST(FakeQuantize, ASecondOneChangesNothing) {
  const FakeQuantization as{-8, 7};
  const float step = 0.3F;
  auto x = random_values(1000, 5, 4);
  std::vector<float> once(x.size()), twice(x.size()), dx(x.size());
  const std::vector<float> dy(x.size(), 1.0F);
  fake_quantize(as, x.data(), 1000, step, once.data());
  fake_quantize(as, once.data(), 1000, step, twice.data());
  EXPECT_EQ(once, twice);
  fake_quantize_gradient(as, once.data(), dy.data(), 1000, step, dx.data());
  EXPECT_EQ(dx, dy);
}

}  // namespace
}  // namespace anybit::kernels
