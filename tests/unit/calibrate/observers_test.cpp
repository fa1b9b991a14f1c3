#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "calibrate/table.hpp"
#include "unit/calibrate/values.hpp"

namespace anybit::calibrate {
namespace {

using testing::normal;
using testing::rectified;
using testing::statistics_of;

Range chosen(std::string_view observer, const std::vector<float>& values, const Grid& grid,
             const Parameters& parameters = {}) {
  const Descriptor* found = find(observer);
  EXPECT_NE(found, nullptr) << observer;
  return found ? found->choose(statistics_of(values), grid, parameters) : Range();
}

double squared_error(const std::vector<float>& values, Range range, const Grid& grid) {
  const double low = std::min(0.0, static_cast<double>(range.low)), high = static_cast<double>(range.high);
  const double half = (grid.levels - 1) / 2;
  const double scale = grid.symmetric ? high / half : (high - low) / (grid.levels - 1);
  const double zero = grid.symmetric ? half : std::nearbyint(-low / scale);
  double sum = 0;
  for (const float one : values) {
    const double code = std::clamp(std::nearbyint(static_cast<double>(one) / scale) + zero, 0.0,
                                   static_cast<double>(grid.levels - 1));
    const double away = (code - zero) * scale - static_cast<double>(one);
    sum += away * away;
  }
  return sum / static_cast<double>(values.size());
}

class EveryObserver : public ::testing::TestWithParam<const Descriptor*> {};

TEST_P(EveryObserver, StaysWithinTheValuesAndIsOrdered) {
  for (const auto& values : {normal(20'000), rectified(20'000), std::vector<float>(3000, 0.25f),
                             std::vector<float>(3000, -7.0f), std::vector{3.0f}, std::vector{0.0f}}) {
    const float low = std::min(0.0f, std::ranges::min(values)),
                high = std::max(0.0f, std::ranges::max(values));
    const float reach = std::max(-low, high);
    for (const int levels : {4, 15, 16, 255, 256, 65536}) {
      for (const bool symmetric : {false, true}) {
        const Range range = GetParam()->choose(statistics_of(values), {levels, symmetric}, {});
        SCOPED_TRACE(::testing::Message() << values[0] << ' ' << levels << ' ' << symmetric << ": "
                                          << range.low << ' ' << range.high);
        EXPECT_LE(range.low, range.high);
        EXPECT_GE(range.low, symmetric ? -reach : low);
        EXPECT_LE(range.high, symmetric ? reach : high);
      }
    }
  }
}

TEST_P(EveryObserver, TheRangeOfNoValuesIsZero) {
  for (const auto& values : {std::vector<float>(), std::vector<float>(2000, NAN)}) {
    const Range range = GetParam()->choose(statistics_of(values), {}, {});
    EXPECT_EQ(range.low, 0);
    EXPECT_EQ(range.high, 0);
  }
}

TEST_P(EveryObserver, IsIndependentOfTheOrderOfValues) {
  std::vector<float> values = normal(30'000);
  for (float& one : values) one = one * one * one;
  const Range before = GetParam()->choose(statistics_of(values), {}, {});
  std::ranges::sort(values);
  const Range after = GetParam()->choose(statistics_of(values), {}, {});
  EXPECT_EQ(before.low, after.low);
  EXPECT_EQ(before.high, after.high);
}

TEST_P(EveryObserver, KeepsAConstantAndTheTopOfAStepThatManyValuesHave) {
  std::vector<float> clipped = normal(20'000);  // as Clip leaves them: a tenth lies on the bounds
  for (float& one : clipped) one = std::clamp(one, -1.7f, 1.3f);
  const Range range = GetParam()->choose(statistics_of(clipped), {256, false}, {});
  EXPECT_NEAR(range.low, -1.7, 0.05);
  EXPECT_NEAR(range.high, 1.3, 0.05);
}

INSTANTIATE_TEST_SUITE_P(Table, EveryObserver, ::testing::ValuesIn(table().begin(), table().end()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST(Observers, AMisspelledNameSuggestsTheNearest) {
  EXPECT_EQ(find("minmix"), nullptr);
  EXPECT_THAT(named("minmix").error().text(), ::testing::HasSubstr("minmax"));
  EXPECT_THAT(named("xyz").error().text(), ::testing::HasSubstr("observers are entropy, minmax"));
  EXPECT_TRUE(named("percentile").ok());
}

TEST(Minmax, KeepsEverything) {
  const Range range = chosen("minmax", {-3, 5, 1}, {});
  EXPECT_EQ(range.low, -3);
  EXPECT_EQ(range.high, 5);
}

TEST(Percentile, MatchesTheSortedValues) {
  for (auto values : {normal(100'000), rectified(100'000)}) {
    for (const double share : {50.0, 99.0, 99.9, 99.99}) {
      const Range range = chosen("percentile", values, {256, false}, {.percentile = share});
      const Range symmetric = chosen("percentile", values, {256, true}, {.percentile = share});
      std::vector<float> sorted = values, magnitudes = values;
      for (float& one : magnitudes) one = std::abs(one);
      std::ranges::sort(sorted);
      std::ranges::sort(magnitudes);
      const auto at = [](const std::vector<float>& list, double part) {
        const double rank = part * static_cast<double>(list.size() - 1);
        const auto whole = static_cast<std::size_t>(rank);
        const auto below = static_cast<double>(list[whole]);
        return below + (rank - std::floor(rank)) * (static_cast<double>(list[whole + 1]) - below);
      };
      EXPECT_NEAR(range.low, at(sorted, (1 - share / 100) / 2), 0.01);
      EXPECT_NEAR(range.high, at(sorted, 1 - (1 - share / 100) / 2), 0.01);
      EXPECT_NEAR(symmetric.high, at(magnitudes, share / 100), 0.01);
      EXPECT_EQ(symmetric.low, -symmetric.high);
    }
  }
}

TEST(Percentile, OfNegatedValuesIsNegated) {
  for (auto values :
       {normal(10'000), rectified(10'000), std::vector<float>{0.5f}, std::vector<float>{0, 3}}) {
    std::vector<float> turned = values;
    for (float& one : turned) one = -one;
    for (const double share : {50.0, 99.9}) {
      const Range range = chosen("percentile", values, {256, false}, {.percentile = share});
      const Range other = chosen("percentile", turned, {256, false}, {.percentile = share});
      EXPECT_NEAR(other.low, -range.high, 1e-6);
      EXPECT_NEAR(other.high, -range.low, 1e-6);
      EXPECT_EQ(chosen("percentile", values, {256, true}, {.percentile = share}).high,
                chosen("percentile", turned, {256, true}, {.percentile = share}).high);
    }
  }
}

TEST(Percentile, OfAHundredIsMinmax) {
  const Range range = chosen("percentile", normal(1000), {}, {.percentile = 100});
  const Range whole = chosen("minmax", normal(1000), {});
  EXPECT_EQ(range.low, whole.low);
  EXPECT_EQ(range.high, whole.high);
}

TEST(Mse, IsAsGoodAsTheBestOfAThousandRanges) {
  std::vector<float> spiky = normal(50'000, 4);
  for (float& one : spiky) one = one * one * one;
  for (const auto& values : {normal(50'000), rectified(50'000), spiky}) {
    for (const Grid grid :
         {Grid{256, false}, Grid{255, true}, Grid{16, false}, Grid{15, true}, Grid{4, false}}) {
      const Range range = chosen("mse", values, grid);
      const double found = squared_error(values, range, grid);
      const Range whole = chosen("minmax", values, grid);
      double best = INFINITY;
      for (int i = 1; i <= 100; ++i) {
        const float part = static_cast<float>(i) / 100;
        const float reach = std::max(-whole.low, whole.high) * part;
        const Range candidate =
            grid.symmetric ? Range{-reach, reach} : Range{whole.low * part, whole.high * part};
        best = std::min(best, squared_error(values, candidate, grid));
      }
      EXPECT_LE(found, best * 1.02) << grid.levels << grid.symmetric;
    }
  }
}

TEST(Entropy, ClipsALoneOutlierAndKeepsTheBody) {
  std::vector<float> values = rectified(200'000);
  values[0] = 400;
  const Range range = chosen("entropy", values, {256, false});
  EXPECT_EQ(range.low, 0);
  EXPECT_GT(range.high, 3.0f);
  EXPECT_LT(range.high, 20.0f);
}

// Nearly all values are tiny, and the few large ones matter most.
TEST(Entropy, KeepsThePeaksOfASoftmax) {
  std::mt19937 random(9);
  std::exponential_distribution<float> draw;
  std::vector<float> values(200'000);
  for (float& one : values) one = 1e-4f * draw(random);
  for (std::size_t i = 0; i < values.size(); i += 5000) values[i] = 1 - 0.1f * draw(random);
  const Range range = chosen("entropy", values, {256, false});
  EXPECT_GT(range.high, 0.9f);
}

TEST(Entropy, DoesNotClipAUniformDistribution) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> draw(-2, 6);
  std::vector<float> values(100'000);
  for (float& one : values) one = draw(random);
  const Range range = chosen("entropy", values, {256, false});
  EXPECT_NEAR(range.low, -2, 0.1);
  EXPECT_NEAR(range.high, 6, 0.2);
}

TEST(Entropy, FewerLevelsClipMore) {
  const std::vector<float> values = normal(200'000);
  const float many = chosen("entropy", values, {255, true}).high,
              few = chosen("entropy", values, {15, true}).high;
  EXPECT_LT(few, many);
  EXPECT_GT(few, 1.5f);
  EXPECT_GT(many, 3.5f);
}

// Exact except for the bins at the ends of the range, which are 1/128 of their values wide.
TEST(ShareOutside, IsTheShareOfClippedValues) {
  for (const auto& values : {normal(20'000), rectified(20'000)}) {
    const Statistics statistics = statistics_of(values);
    for (const Range range : {Range{-1, 1}, Range{-0.5f, 2}, Range{0, 0.25f}, Range{-100, 1}, Range{0, 0}}) {
      const double outside = static_cast<double>(
          std::ranges::count_if(values, [&](float x) { return x < range.low || x > range.high; }));
      EXPECT_NEAR(share_outside(statistics, range), outside / static_cast<double>(values.size()), 0.003)
          << range.low << " … " << range.high;
    }
  }
}

TEST(ShareOutside, IsZeroForARangeOfAllValues) {
  const Statistics statistics = statistics_of({-3.14159f, 0, 0, 2.71828f});
  EXPECT_EQ(share_outside(statistics, {statistics.extent.min, statistics.extent.max}), 0);
  EXPECT_EQ(share_outside(statistics, {statistics.extent.min, 2.7f}), 0.25);
  EXPECT_EQ(share_outside(statistics_of({}), {0, 0}), 0);
  EXPECT_EQ(share_outside(statistics_of(std::vector<float>(10, 5.0f)), {0, 4}), 1);
}

TEST(ShareOutside, IsUnknownWithoutBins) {
  Statistics statistics = statistics_of({-3, 2});
  statistics.has_bins = false;
  EXPECT_LT(share_outside(statistics, {-1, 1}), 0);
  EXPECT_EQ(share_outside(statistics, {-3, 2}), 0);
}

}  // namespace
}  // namespace anybit::calibrate
