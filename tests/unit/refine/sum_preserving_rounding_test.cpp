#include "refine/sum_preserving_rounding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace anybit::quantizing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

// Integers from -top to top.
struct Integers {
  float top = 1000;

  float nearest(float x) const { return std::clamp(std::nearbyint(x), -top, top); }
  void operator()(std::int64_t, std::span<const float> values, std::span<float> rounded,
                  std::span<float> other) const {
    for (std::size_t i = 0; i < values.size(); ++i) {
      rounded[i] = nearest(values[i]);
      other[i] = nearest(mirrored(values[i], rounded[i]));
    }
  }
};

std::vector<float> kept(const std::vector<float>& values, std::vector<std::int64_t> dims,
                        std::int64_t axis = 0, Rounded* told = nullptr, int threads = 2, float top = 1000) {
  ThreadPool pool(threads);
  const Outputs outputs = outputs_of(dims, axis);
  std::vector<float> result(values.size());
  const Rounded done = preserve_sums(values.data(), outputs, Integers{top}, result.data(), pool);
  if (told) *told = done;
  return result;
}

std::vector<float> random_values(std::size_t count) {
  std::mt19937 random(7);
  std::normal_distribution<float> draw(0, 20);
  std::vector<float> values(count);
  for (float& one : values) one = draw(random);
  return values;
}

TEST(SumPreservingRounding, RoundsTheValueNearestToATieToItsOtherNeighbor) {
  // Rounding to nearest gives 1 2 3 -6, whose sum is 1.2 too low.
  Rounded told;
  EXPECT_THAT(kept({1.25F, 2.45F, 3.4F, -5.9F}, {1, 4}, 0, &told), ElementsAre(1, 3, 3, -6));
  EXPECT_EQ(told.moved, 1);
  EXPECT_NEAR(told.noise, 0.25 * 0.25 + 0.55 * 0.55 + 0.4 * 0.4 + 0.1 * 0.1, 1e-6);
  EXPECT_NEAR(told.signal, 1.25 * 1.25 + 2.45 * 2.45 + 3.4 * 3.4 + 5.9 * 5.9, 1e-5);
}

TEST(SumPreservingRounding, KeepsValuesWhoseErrorsCancel) {
  Rounded told;
  EXPECT_THAT(kept({1.4F, 1.6F, -2.4F, -2.6F}, {1, 4}, 0, &told), ElementsAre(1, 2, -2, -3));
  EXPECT_EQ(told.moved, 0);
}

TEST(SumPreservingRounding, KeepsValuesFarFromATie) {
  EXPECT_THAT(kept({1.2F, 1.2F, 1.2F, 1.2F, 1.2F}, {1, 5}), Each(1));
}

TEST(SumPreservingRounding, NeverLeavesTheRange) {
  EXPECT_THAT(kept({1.4F, 1.4F, 1.4F}, {1, 3}, 0, nullptr, 1, 1), Each(1));
}

TEST(SumPreservingRounding, KeepsEverySumWithinAStep) {
  constexpr std::int64_t kOutputs = 37, kLength = 100;
  const std::vector<float> values = random_values(kOutputs * kLength);
  for (const std::int64_t axis : {0, 1}) {
    const std::vector<std::int64_t> dims =
        axis == 0 ? std::vector{kOutputs, std::int64_t{4}, std::int64_t{25}} : std::vector{kLength, kOutputs};
    const std::vector<float> made = kept(values, dims, axis);
    const Outputs outputs = outputs_of(dims, axis);
    ASSERT_EQ(outputs.count, kOutputs);
    for (std::int64_t i = 0; i < kOutputs; ++i) {
      double sum = 0;
      for (std::int64_t k = 0; k < kLength; ++k) {
        const auto at = static_cast<std::size_t>(i * outputs.stride + k * outputs.step);
        sum += static_cast<double>(made[at]) - static_cast<double>(values[at]);
        EXPECT_LE(std::abs(made[at] - values[at]), 0.75F);
      }
      EXPECT_LE(std::abs(sum), 0.6) << "output " << i << " of axis " << axis;
    }
  }
}

TEST(SumPreservingRounding, IsTheSameForAnyNumberOfThreads) {
  const std::vector<float> values = random_values(300 * 1000);
  Rounded one, four;
  EXPECT_EQ(kept(values, {1000, 300}, 1, &one, 1), kept(values, {1000, 300}, 1, &four, 4));
  EXPECT_EQ(one.noise, four.noise);
  EXPECT_EQ(one.moved, four.moved);
  EXPECT_GT(one.moved, 0);
}

TEST(SumPreservingRounding, HandlesOutputsInRowsOrColumns) {
  EXPECT_EQ(outputs_of(std::vector<std::int64_t>{2, 3, 4}, 1).count, 0);
  EXPECT_EQ(outputs_of(std::vector<std::int64_t>{5}, 0).count, 0);
  EXPECT_EQ(outputs_of(std::vector<std::int64_t>{5, 0}, 0).count, 0);
  EXPECT_EQ(outputs_of(std::vector<std::int64_t>{5, 4}, -1).count, 0);
  EXPECT_EQ(outputs_of(std::vector<std::int64_t>{2, 3, 4}, 0).length, 12);
}

// Floats with three mantissa bits and any exponent.
float three_bits(float x) {
  int exponent = 0;
  const float part = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(part * 16), exponent - 4);
}

struct Floats {
  void operator()(std::int64_t, std::span<const float> values, std::span<float> rounded,
                  std::span<float> other) const {
    for (std::size_t i = 0; i < values.size(); ++i) {
      rounded[i] = three_bits(values[i]);
      other[i] = three_bits(mirrored(values[i], rounded[i]));
    }
  }
  void operator()(std::span<const float> values, std::span<float> rounded) const {
    std::ranges::transform(values, rounded.begin(), three_bits);
  }
};

struct Errors {
  double sum = 0, squares = 0;
  Errors(std::span<const float> values, std::span<const float> kept) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double error = static_cast<double>(kept[i]) - static_cast<double>(values[i]);
      sum += error;
      squares += error * error;
    }
  }
};

TEST(TrimSums, CompensateALargeWeightBySmallOnesWithFinerSteps) {
  // From a network for printed text: the step of the fifth weight is 1, its neighbors are 0.56 and 0.44 away.
  const std::vector<float> values = {0.068F, 0.275F, -0.34F, -9.237F, 8.563F, 0.663F, -0.839F, 1.1F, -0.238F};
  const Outputs outputs = outputs_of(std::vector<std::int64_t>{1, 9}, 0);
  std::vector<float> made(values.size());
  ThreadPool pool(1);
  preserve_sums(values.data(), outputs, Floats(), made.data(), pool);
  EXPECT_GT(std::abs(Errors(values, made).sum), 0.1);
  refine_sums(values.data(), outputs, Floats(), made);
  EXPECT_LT(std::abs(Errors(values, made).sum), 0.02);
  for (const float one : made) EXPECT_EQ(one, three_bits(one));
}

TEST(TrimSums, NeverMakeAnOutputWorse) {
  constexpr std::int64_t kOutputs = 200, kLength = 12;
  const std::vector<float> values = random_values(kOutputs * kLength);  // its seed is fixed
  for (const std::int64_t axis : {0, 1}) {
    const Outputs outputs =
        outputs_of(axis == 0 ? std::vector{kOutputs, kLength} : std::vector{kLength, kOutputs}, axis);
    std::vector<float> before(values.size());
    ThreadPool pool(1);
    preserve_sums(values.data(), outputs, Floats(), before.data(), pool);
    std::vector<float> after = before;
    refine_sums(values.data(), outputs, Floats(), after);
    double sums_before = 0, sums_after = 0;  // squares of them
    for (std::int64_t i = 0; i < kOutputs; ++i) {
      const auto row = [&](const std::vector<float>& of) {
        std::vector<float> weights;
        for (std::int64_t k = 0; k < kLength; ++k)
          weights.push_back(of[static_cast<std::size_t>(i * outputs.stride + k * outputs.step)]);
        return weights;
      };
      const Errors was(row(values), row(before)), is(row(values), row(after));
      const auto cost = [](const Errors& errors) { return errors.squares + 4 * errors.sum * errors.sum; };
      EXPECT_LE(cost(is), cost(was)) << "output " << i << " of axis " << axis;
      sums_before += was.sum * was.sum;
      sums_after += is.sum * is.sum;
    }
    EXPECT_LT(sums_after, sums_before / 4);
  }
}

TEST(TrimSums, SkipOutputsWithManyWeights) {
  const std::vector<float> values = random_values(3 * 100);
  std::vector<float> made(values.size(), 1.0F);
  refine_sums(values.data(), outputs_of(std::vector<std::int64_t>{3, 100}, 0), Floats(), made);
  EXPECT_THAT(made, Each(1));
}

TEST(TrimSums, SkipValuesOutsideOfTheFormat) {
  const std::vector<float> values = {1.4F, 2.4F, 3.4F};
  std::vector<float> made = {1, 2, 3};
  const auto nothing = [](std::span<const float>, std::span<float> rounded) {
    std::ranges::fill(rounded, std::numeric_limits<float>::quiet_NaN());
  };
  refine_sums(values.data(), outputs_of(std::vector<std::int64_t>{1, 3}, 0), nothing, made);
  EXPECT_THAT(made, ElementsAre(1, 2, 3));
}

TEST(TrimSums, NeverAimBeyondTheLargestFloat) {
  const float most = std::numeric_limits<float>::max();
  const std::vector<float> values = {most, most, most};
  std::vector<float> made = {0, 0, most};
  const auto same = [](std::span<const float> from, std::span<float> to) {
    std::ranges::copy(from, to.begin());
  };
  refine_sums(values.data(), outputs_of(std::vector<std::int64_t>{1, 3}, 0), same, made);
  for (const float one : made) EXPECT_LE(std::abs(one), most);
  EXPECT_LT(std::abs(Errors(values, made).sum), 0.1 * static_cast<double>(most));
}

TEST(SumPreservingRounding, FindsNoNeighborBeyondTheLargestFloat) {
  const float most = std::numeric_limits<float>::max();
  EXPECT_EQ(mirrored(most, most / 2), most);
  EXPECT_EQ(mirrored(-most, -most / 2), -most);
}

}  // namespace
}  // namespace anybit::quantizing
