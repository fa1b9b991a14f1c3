// Minifloats: values given in the OCP and IEEE specifications, and edge cases.
#include "formats/minifloat.hpp"

#include <gtest/gtest.h>

#include "formats/table.hpp"

namespace anybit::formats {
namespace {

float nearest(const MinifloatLayout& layout, float x, bool saturate = true) {
  return layout.decode(layout.encode(x, saturate, Rounding::half_even, 0));
}

TEST(Minifloat, LargestAndSmallestValuesAreThoseOfTheSpecification) {
  EXPECT_EQ(kE5m2.largest(), 57344);
  EXPECT_EQ(kE4m3.largest(), 448);
  EXPECT_EQ(kE3m2.largest(), 28);
  EXPECT_EQ(kE2m3.largest(), 7.5);
  EXPECT_EQ(kE2m1.largest(), 6);
  EXPECT_EQ(kE4m3.smallest(), 0x1p-9);
  EXPECT_EQ(kE2m1.smallest(), 0.5);
  EXPECT_EQ(kFloat16.largest(), 65504);
}

TEST(Minifloat, TiesGoToTheEvenCode) {
  EXPECT_EQ(nearest(kE2m1, 2.5f), 2);
  EXPECT_EQ(nearest(kE2m1, 3.5f), 4);
  EXPECT_EQ(nearest(kE2m1, 0.25f), 0);
  EXPECT_EQ(nearest(kE2m1, 5), 4);
}

TEST(Minifloat, OverflowSaturatesOrBecomesInfOrNan) {
  EXPECT_EQ(nearest(kE4m3, 1e9f), 448);
  EXPECT_TRUE(std::isnan(nearest(kE4m3, 1e9f, false)));
  EXPECT_EQ(nearest(kE4m3, 464, false), 448);
  EXPECT_TRUE(std::isinf(nearest(kE5m2, -1e9f, false)));
  EXPECT_EQ(nearest(kE2m1, -1e9f, false), -6);
}

TEST(Minifloat, NegativeZeroKeepsItsSignWhereACodeExists) {
  EXPECT_TRUE(std::signbit(nearest(kE2m1, -0.0f)));
  EXPECT_TRUE(std::signbit(nearest(kE4m3, -1e-30f)));
  EXPECT_FALSE(std::signbit(nearest(kE4m3fnuz, -0.0f)));
}

TEST(Minifloat, ImpossibleLayoutsAreRejectedWithAHint) {
  const auto result = make("minifloat", {{"width", std::int64_t{4}}, {"exponent_width", std::int64_t{4}}});
  ASSERT_FALSE(result.ok());
  EXPECT_FALSE(result.error().hint.empty());
}

// One exponent bit: every code that is not Inf or NaN is subnormal, and there are equally many of both.
TEST(Minifloat, OneExponentBitHasSubnormalsInfAndNan) {
  const MinifloatLayout layout{1, 2, 0, Flavour::inf};
  ASSERT_TRUE(check(layout).ok());
  EXPECT_EQ(layout.largest(), 1.5);
  EXPECT_EQ(nearest(layout, 0.7f), 0.5);
  EXPECT_EQ(nearest(layout, -1.74f, false), -1.5);
  EXPECT_TRUE(std::isinf(nearest(layout, 1.75f, false)));
  EXPECT_TRUE(std::isnan(nearest(layout, kNan)));
}

TEST(Minifloat, InfNeedsAMantissaBitToDistinguishNan) {
  const auto result = check(MinifloatLayout{3, 0, 3, Flavour::inf});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().text().find("distinguish NaN from Inf"), std::string::npos)
      << result.error().text();
}

TEST(Table, AMisspeltNameGetsTheNearestOnes) {
  const auto result = find("fp8_e4m4");
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().hint.find("fp8_e4m3"), std::string::npos) << result.error().text();
}

}  // namespace
}  // namespace anybit::formats
