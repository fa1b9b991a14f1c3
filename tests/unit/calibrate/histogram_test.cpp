#include "calibrate/histogram.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "kernels/reduce/observe.hpp"

namespace anybit::calibrate {
namespace {

std::int64_t total(const Histogram& histogram) {
  return std::accumulate(histogram.counts.begin(), histogram.counts.end(), std::int64_t{0});
}

TEST(HistogramOfFloats, CountsEveryFiniteValueOnce) {
  const float infinity = std::numeric_limits<float>::infinity();
  const Histogram made = histogram(Bytes::own(std::vector<float>{0, 0.9F, 1, 2, 3.9F, 4, infinity}), 4);
  EXPECT_EQ(made.low, 0);
  EXPECT_EQ(made.high, 4);
  EXPECT_THAT(made.counts, testing::ElementsAre(2, 1, 1, 2));
}

TEST(HistogramOfFloats, EqualValuesFallIntoOneBin) {
  const Histogram made = histogram(Bytes::own(std::vector<float>{7, 7, 7}), 8);
  EXPECT_EQ(made.low, 7);
  EXPECT_EQ(made.high, 7);
  EXPECT_EQ(total(made), 3);
}

TEST(HistogramOfFloats, WithoutFiniteValuesThereIsNone) {
  EXPECT_TRUE(
      histogram(Bytes::own(std::vector<float>{std::numeric_limits<float>::quiet_NaN()})).counts.empty());
}

Statistics seen(const std::vector<float>& values) {
  Statistics statistics;
  std::mutex guard;
  Counter counter;
  const kernels::Extremes extremes = kernels::extremes(values.data(), values.size());
  statistics.extent.add(extremes);
  statistics.extent.samples = 1;
  statistics.has_bins = true;
  counter.count(values.data(), values.size(), extremes, statistics.bins, guard);
  return statistics;
}

TEST(HistogramOfStatistics, SpreadsBinsAndKeepsZerosInTheirPlace) {
  std::vector<float> values(1000, 0.0F);
  for (int i = 0; i < 1000; ++i) values.push_back(1 + static_cast<float>(i) / 1000);
  values.push_back(-2);
  const Histogram made = histogram(seen(values), 8);
  EXPECT_EQ(made.low, -2);
  EXPECT_FLOAT_EQ(made.high, 1.999F);
  EXPECT_NEAR(static_cast<double>(total(made)), 2001, 4);  // shares of bins are rounded
  EXPECT_EQ(made.counts[0], 1);
  EXPECT_EQ(made.counts[4], 1000);
  EXPECT_NEAR(static_cast<double>(made.counts[6]), 500, 10);
  EXPECT_NEAR(static_cast<double>(made.counts[7]), 500, 10);
}

TEST(HistogramOfStatistics, WithoutBinsThereIsNone) {
  Statistics statistics = seen({1, 2, 3});
  statistics.has_bins = false;
  EXPECT_TRUE(histogram(statistics).counts.empty());
}

}  // namespace
}  // namespace anybit::calibrate
