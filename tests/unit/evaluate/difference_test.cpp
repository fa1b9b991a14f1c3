#include "evaluate/difference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace anybit::evaluate {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Difference between(const std::vector<float>& reference, const std::vector<float>& other) {
  DifferenceSums sums;
  sums.add(reference, other);
  Difference difference;
  sums.fill(difference);
  return difference;
}

TEST(Difference, DistinguishesEqualFromAlmostEqual) {
  EXPECT_EQ(between({1, 2}, {1, 2}).sqnr, 200);
  EXPECT_NEAR(between({3, 4}, {3, 4.5F}).sqnr, 20, 1e-9);
}

TEST(Difference, NanInOnlyOneTensorIsADifference) {
  const Difference difference = between({1, 2}, {1, kNan});
  EXPECT_EQ(difference.sqnr, -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isinf(difference.largest_error));
  EXPECT_EQ(between({1, 2}, {1, kInfinity}).sqnr, -std::numeric_limits<double>::infinity());
}

TEST(Difference, EqualInfinitiesAreNoDifference) {
  const Difference difference = between({1, -kInfinity, kNan}, {1, -kInfinity, kNan});
  EXPECT_EQ(difference.sqnr, 200);
  EXPECT_DOUBLE_EQ(difference.cosine, 1);
  EXPECT_EQ(difference.largest_value, 1);
}

}  // namespace
}  // namespace anybit::evaluate
