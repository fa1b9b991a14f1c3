#include "ops/symbolic_dim.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace anybit::ops {
namespace {

TEST(Dim, ArithmeticNeverOverflows) {
  const Dim huge = INT64_MAX;
  EXPECT_FALSE((huge + Dim(1)).known());
  EXPECT_FALSE((huge * Dim(2)).known());
  EXPECT_FALSE((Dim(INT64_MIN) - Dim(1)).known());
  EXPECT_FALSE(scaled(huge, 1e300).known());
  EXPECT_FALSE(floor_div(Dim(5), Dim(0)).known());
}

TEST(Dim, DivisionRoundsDownOrUp) {
  EXPECT_TRUE(floor_div(Dim(-1), Dim(2)).is(-1));
  EXPECT_TRUE(ceil_div(Dim(-1), Dim(2)).is(0));
  EXPECT_TRUE(floor_div(Dim(7), Dim(2)).is(3));
  EXPECT_TRUE(ceil_div(Dim(7), Dim(2)).is(4));
}

TEST(Dim, KeepsTheSymbolWhenAddingZeroOrMultiplyingByOne) {
  const Dim n = Dim::named("n");
  EXPECT_TRUE(same(n * Dim(1), n));
  EXPECT_TRUE(same(n + Dim(0), n));
  EXPECT_FALSE((n * Dim(2)).known());
  EXPECT_FALSE(same(Dim(), Dim()));
}

TEST(Dim, ZeroTimesUnknownIsZero) {
  const Shape shape{Dim(), Dim(0), Dim::named("n")};
  EXPECT_TRUE(product(shape).is(0));
}

}  // namespace
}  // namespace anybit::ops
