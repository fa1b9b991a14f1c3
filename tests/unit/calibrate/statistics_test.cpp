#include "calibrate/statistics.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>

#include "unit/calibrate/values.hpp"

namespace anybit::calibrate {
namespace {

using testing::normal;
using testing::statistics_of;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Floats of every exponent and sign, including zeros, NaN and infinity.
std::vector<float> any_bits(std::size_t n, unsigned seed, bool special) {
  std::mt19937 random(seed);
  std::vector<float> values;
  while (values.size() < n) {
    float one = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (random() % 4 == 0) one = random() % 2 ? 0.0f : -0.0f;
    if (!special && !std::isfinite(one)) continue;
    values.push_back(one);
  }
  return values;
}

void expect_as_counted_one_by_one(const std::vector<float>& values) {
  const Statistics found = statistics_of(values);
  std::map<std::uint16_t, std::uint64_t> keys;
  std::int64_t nans = 0, infinities = 0, zeros = 0;
  std::vector<float> finite;
  for (const float one : values) {
    const auto key = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(one) >> 16);
    nans += std::isnan(one);
    infinities += std::isinf(one);
    if (!std::isfinite(one)) continue;
    finite.push_back(one);
    zeros += (key & 0x7FFF) == 0;
    if ((key & 0x7FFF) != 0) ++keys[key];
  }
  EXPECT_EQ(found.extent.count, std::ssize(values));
  EXPECT_EQ(found.extent.nans, nans);
  EXPECT_EQ(found.extent.infinities, infinities);
  EXPECT_EQ(found.extent.zeros, zeros);
  if (!finite.empty()) {
    EXPECT_EQ(found.extent.min, std::ranges::min(finite));
    EXPECT_EQ(found.extent.max, std::ranges::max(finite));
  }
  std::uint64_t total = 0;
  for (const auto& [key, count] : keys) {
    EXPECT_EQ(found.bins.count(key), count) << key;
    total += count;
  }
  EXPECT_EQ(found.bins.total(), total);
}

TEST(Statistics, MatchValuesCountedOneByOne) {
  for (const std::size_t n : {0u, 1u, 2u, 3u, 7u, 8u, 31u, 100u, 1023u, 1024u, 4097u, 100'003u}) {
    for (const bool special : {false, true}) {
      SCOPED_TRACE(::testing::Message() << n << " values, seed " << n << (special ? ", with NaN" : ""));
      expect_as_counted_one_by_one(any_bits(n, static_cast<unsigned>(n), special));
      expect_as_counted_one_by_one(normal(n, static_cast<unsigned>(n)));
      expect_as_counted_one_by_one(testing::rectified(n));
    }
  }
}

TEST(Statistics, OfNothingButZerosNanAndInfinityHaveNoBins) {
  for (const float one : {0.0f, -0.0f, 1e-42f, kNan, kInfinity, -kInfinity}) {
    for (const std::size_t n : {5u, 5000u}) {
      const std::vector<float> values(n, one);
      expect_as_counted_one_by_one(values);
      EXPECT_TRUE(statistics_of(values).bins.empty());
    }
  }
}

TEST(Statistics, DoNotDependOnWhichZeroComesFirst) {
  for (const auto& values : {std::vector{0.0f, -0.0f}, std::vector{-0.0f, 0.0f}, std::vector{-0.0f}}) {
    EXPECT_FALSE(std::signbit(statistics_of(values).extent.min));
    EXPECT_FALSE(std::signbit(statistics_of(values).extent.max));
  }
}

TEST(Statistics, PartsMergedAreTheWholeInAnyOrder) {
  const std::vector<float> values = any_bits(50'000, 7, true);
  Statistics whole = statistics_of(values);
  std::vector<Statistics> parts;
  for (std::size_t i = 0; i < values.size(); i += 7919) {
    parts.push_back(
        statistics_of({values.begin() + static_cast<std::ptrdiff_t>(i),
                       values.begin() + static_cast<std::ptrdiff_t>(std::min(i + 7919, values.size()))}));
  }
  whole.extent.samples = std::ssize(parts);
  std::mt19937 random(3);
  for (int round = 0; round < 5; ++round) {
    Statistics merged;
    for (const Statistics& part : parts) ASSERT_TRUE(merged.merge(part).ok());
    merged.averages.min = whole.averages.min;  // these follow the order
    merged.averages.max = whole.averages.max;
    EXPECT_EQ(merged, whole);
    std::ranges::shuffle(parts, random);
  }
}

TEST(Statistics, MergedMovingAveragesMatchTheSequence) {
  MovingAverage whole, first, second;
  for (int i = 0; i < 40; ++i) {
    const double x = std::sin(i) * i;
    whole.add(x, 0.05);
    (i < 13 ? first : second).add(x, 0.05);
  }
  first.append(second, 0.05);
  EXPECT_NEAR(first.value, whole.value, 1e-12);
  EXPECT_EQ(first.count, 40);
}

TEST(Statistics, RejectIncompatibleMerges) {
  Statistics a = statistics_of({1.0f}), b = a;
  b.averages.momentum = 0.5;
  EXPECT_FALSE(a.merge(b).ok());
  b = a;
  b.has_bins = false;
  EXPECT_FALSE(a.merge(b).ok());
}

TEST(Statistics, TheFirstBadSampleIsKeptInAnyOrder) {
  Statistics a, b;
  a.extent.add_bad(5, "sample 5");
  a.extent.add_bad(2, "sample 2");
  b.extent.add_bad(2, "sample 2");
  b.extent.add_bad(5, "sample 5");
  EXPECT_EQ(a, b);
  EXPECT_EQ(a.extent.first_bad, "sample 2");
}

TEST(Bins, EdgesEncloseTheirValues) {
  for (const float x : {1.0f, 1.5f, 3.14159f, 1e-30f, 3e38f, 0.1f}) {
    const auto top = static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16);
    EXPECT_LE(lower_edge(top), x);
    EXPECT_GE(upper_edge(top), x);
    EXPECT_LE(upper_edge(top) - lower_edge(top), x / 127);
  }
}

TEST(Bins, SortedIsInAscendingOrder) {
  const auto bins = statistics_of(any_bits(20'000, 5, false)).bins.sorted();
  ASSERT_GT(bins.size(), 1000u);
  for (std::size_t i = 0; i < bins.size(); ++i) {
    EXPECT_LT(bins[i].low, bins[i].high);
    if (i > 0) {
      EXPECT_LE(bins[i - 1].high, bins[i].low);
    }
  }
}

// Pages within the range may be skipped, but none outside of it.
TEST(Bins, EveryBinOutsideOfARangeIsVisited) {
  Bins bins;
  for (std::uint32_t key = 0x3000; key < 0x4800; key += 37) {
    bins.add(static_cast<std::uint16_t>(key), key);
    bins.add(static_cast<std::uint16_t>(0x8000 | (key + 5)), key + 1);
  }
  for (const auto& [low, high] : {std::pair{0.0f, 0.0f}, {-1.0f, 0.3f}, {-0.001f, 7.9f}, {-3e38f, 2.0f}}) {
    const auto beyond = [&](const Bins::Bin& bin) { return bin.high > high || bin.low < low; };
    std::vector<std::uint64_t> expected, seen;
    for (const Bins::Bin& bin : bins.sorted()) {
      if (beyond(bin)) expected.push_back(bin.count);
    }
    bins.each(
        [&](const Bins::Bin& bin) {
          if (beyond(bin)) seen.push_back(bin.count);
        },
        low, high);
    EXPECT_EQ(seen, expected) << low << " " << high;
  }
}

}  // namespace
}  // namespace anybit::calibrate
