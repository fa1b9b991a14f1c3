#include "quantize/keep_sums.hpp"

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

// Whole numbers, from -top to top.
struct Whole {
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
                        std::int64_t axis = 0, Kept* told = nullptr, int threads = 2, float top = 1000) {
  ThreadPool pool(threads);
  const Outputs outputs = outputs_of(dims, axis);
  std::vector<float> result(values.size());
  const Kept done = keep_sums(values.data(), outputs, Whole{top}, result.data(), pool);
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

TEST(KeepSums, MovesTheValueThatIsNearestToATieToTheOtherSide) {
  // To the nearest: 1 2 3 -6, whose sum is 1.2 less than that of the values.
  Kept told;
  EXPECT_THAT(kept({1.25F, 2.45F, 3.4F, -5.9F}, {1, 4}, 0, &told), ElementsAre(1, 3, 3, -6));
  EXPECT_EQ(told.moved, 1);
  EXPECT_NEAR(told.noise, 0.25 * 0.25 + 0.55 * 0.55 + 0.4 * 0.4 + 0.1 * 0.1, 1e-6);
  EXPECT_NEAR(told.signal, 1.25 * 1.25 + 2.45 * 2.45 + 3.4 * 3.4 + 5.9 * 5.9, 1e-5);
}

TEST(KeepSums, LeavesValuesWhoseErrorsCancel) {
  Kept told;
  EXPECT_THAT(kept({1.4F, 1.6F, -2.4F, -2.6F}, {1, 4}, 0, &told), ElementsAre(1, 2, -2, -3));
  EXPECT_EQ(told.moved, 0);
}

TEST(KeepSums, LeavesWhatIsFarFromATie) {
  EXPECT_THAT(kept({1.2F, 1.2F, 1.2F, 1.2F, 1.2F}, {1, 5}), Each(1));
}

TEST(KeepSums, LeavesTheRangeToNobody) {
  EXPECT_THAT(kept({1.4F, 1.4F, 1.4F}, {1, 3}, 0, nullptr, 1, 1), Each(1));
}

TEST(KeepSums, HoldEveryOutputWithinAStep) {
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

TEST(KeepSums, GiveTheSameForAnyNumberOfThreads) {
  const std::vector<float> values = random_values(300 * 1000);
  Kept one, four;
  EXPECT_EQ(kept(values, {1000, 300}, 1, &one, 1), kept(values, {1000, 300}, 1, &four, 4));
  EXPECT_EQ(one.noise, four.noise);
  EXPECT_EQ(one.moved, four.moved);
  EXPECT_GT(one.moved, 0);
}

TEST(KeepSums, AreOfOutputsThatLieInRowsOrColumns) {
  EXPECT_EQ(outputs_of(std::vector<std::int64_t>{2, 3, 4}, 1).count, 0);
  EXPECT_EQ(outputs_of(std::vector<std::int64_t>{5}, 0).count, 0);
  EXPECT_EQ(outputs_of(std::vector<std::int64_t>{5, 0}, 0).count, 0);
  EXPECT_EQ(outputs_of(std::vector<std::int64_t>{5, 4}, -1).count, 0);
  EXPECT_EQ(outputs_of(std::vector<std::int64_t>{2, 3, 4}, 0).length, 12);
}

TEST(KeepSums, FindNoNeighbourBeyondTheLargestFloat) {
  const float most = std::numeric_limits<float>::max();
  EXPECT_EQ(mirrored(most, most / 2), most);
  EXPECT_EQ(mirrored(-most, -most / 2), -most);
}

}  // namespace
}  // namespace anybit::quantizing
