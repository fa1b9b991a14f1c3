// Affine integers: rejected parameters, groups of zeros, and the arithmetic of requantization.
#include "formats/affine.hpp"

#include <gtest/gtest.h>

#include "formats/float_bits.hpp"
#include "formats/table.hpp"

namespace anybit::formats {
namespace {

std::shared_ptr<const Codec> codec(std::string_view name, const Values& values = {}) {
  auto result = make(name, values);
  EXPECT_TRUE(result.ok()) << result.error().text();
  return *result;
}

TEST(Affine, ThirtyFormatsAreInTheTable) {
  for (int bits = 2; bits <= 16; ++bits) {
    EXPECT_TRUE(find("int" + std::to_string(bits)).ok());
    EXPECT_TRUE(find("uint" + std::to_string(bits)).ok());
  }
  EXPECT_FALSE(find("int1").ok());
  EXPECT_FALSE(find("int17").ok());
}

TEST(Affine, AGroupOfZerosTakesTheLargestScaleOfTheOthers) {
  const auto int8 = codec("int8");
  std::vector<std::uint32_t> words(3);
  const float zeros[] = {0, 0}, small[] = {1, -2}, large[] = {127, 3};
  int8->choose(zeros, Words(words).subspan(0, 1));
  int8->choose(small, Words(words).subspan(1, 1));
  int8->choose(large, Words(words).subspan(2, 1));
  int8->settle(words, 1);
  EXPECT_EQ(float_of(words[0]), 1.0f);
  EXPECT_EQ(float_of(words[1]), 2.0f / 127);
  EXPECT_EQ(float_of(words[2]), 1.0f);
}

TEST(Affine, ATensorOfZerosGetsScaleOne) {
  const auto uint8 = codec("uint8");
  std::vector<std::uint32_t> words(4);
  const float zeros[] = {0, 0};
  uint8->choose(zeros, Words(words).first(2));
  uint8->choose(zeros, Words(words).last(2));
  uint8->settle(words, 2);
  EXPECT_EQ(float_of(words[0]), 1.0f);
  EXPECT_EQ(float_of(words[2]), 1.0f);
  EXPECT_EQ(words[1], 0u);
}

TEST(Affine, InvalidScalesAndZeroPointsAreRejected) {
  const auto uint8 = codec("uint8");
  for (const float scale : {0.0f, -1.0f, kNan, kInfinity}) {
    EXPECT_FALSE(uint8->check(std::vector<std::uint32_t>{bits_of(scale), 0})) << scale;
  }
  EXPECT_TRUE(uint8->check(std::vector<std::uint32_t>{bits_of(0.5f), 255}));
  EXPECT_FALSE(uint8->check(std::vector<std::uint32_t>{bits_of(0.5f), 256}));
  EXPECT_FALSE(uint8->check(std::vector<std::uint32_t>{bits_of(0.5f), static_cast<std::uint32_t>(-1)}));
}

TEST(Affine, OnlyAsymmetricFormatsStoreAZeroPoint) {
  EXPECT_EQ(codec("int8")->words(8), 1);
  EXPECT_EQ(codec("uint8")->words(8), 2);
  EXPECT_EQ(codec("uint8", {{"symmetric", true}})->words(8), 1);
  EXPECT_EQ(codec("int8", {{"scale_kind", std::string("float16")}})->fields(8)[0].stored_bits, 16);
}

TEST(Affine, UnknownScaleKindsAreRejectedWithTheKnownOnes) {
  const auto result = make("int8", {{"scale_kind", std::string("float64")}});
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().hint.find("multiplier31"), std::string::npos);
}

TEST(Requantize, RoundsHalfToEvenOnceAndClamps) {
  EXPECT_EQ(requantize(5, 0, 0.5f, 0, -128, 127), 2);
  EXPECT_EQ(requantize(7, 0, 0.5f, 0, -128, 127), 4);
  EXPECT_EQ(requantize(-5, 0, 0.5f, 10, -128, 127), 8);
  EXPECT_EQ(requantize(1 << 30, 0, 1, 0, -128, 127), 127);
  EXPECT_EQ(requantize(-(1 << 30), 0, 3e38f, 0, -128, 127), -128);
  EXPECT_EQ(requantize(16777216, 1, 1, 0, -2147483647, 2147483647), 16777216);  // one conversion to float32
  EXPECT_EQ(requantization_multiplier(0.5f, 0.25f, 2), 0.0625f);
}

TEST(FixedMultiplier, HasTheRequestedBitsAndTheNearestValue) {
  for (const double m : {0.75, 1.0, 0.1, 1e-5, 123.456, 1.9999999999}) {
    for (const int bits : {15, 31}) {
      const auto result = fixed_multiplier(m, bits);
      ASSERT_TRUE(result.ok()) << m;
      EXPECT_GE(result->mantissa, std::int32_t{1} << (bits - 1));
      EXPECT_NEAR(std::ldexp(result->mantissa, -result->shift), m, m * std::ldexp(1.0, -bits));
    }
  }
  EXPECT_FALSE(fixed_multiplier(0, 31).ok());
  EXPECT_FALSE(fixed_multiplier(std::nan(""), 31).ok());
  EXPECT_FALSE(fixed_multiplier(40000, 15).ok());
  EXPECT_EQ(fixed_multiplier(1e-30, 31)->mantissa, 0);
}

TEST(FixedMultiplier, ShiftsRoundHalfUp) {
  const FixedMultiplier half{1 << 30, 31};
  EXPECT_EQ(scale_by(3, half), 2);
  EXPECT_EQ(scale_by(-3, half), -1);
  EXPECT_EQ(scale_by(-4, half), -2);
  EXPECT_EQ(scale_by(std::int64_t{1} << 31, {2147483647, 62}), 1);
  EXPECT_EQ(scale_by((std::int64_t{1} << 47), {1 << 14, 15}), std::int64_t{1} << 46);
}

}  // namespace
}  // namespace anybit::formats
