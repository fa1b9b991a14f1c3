// OCP MX: worked examples of blocks, profiles, and rejected parameters.
#include "formats/mx.hpp"

#include <gmock/gmock.h>

#include "formats/float_bits.hpp"
#include "formats/table.hpp"

namespace anybit::formats {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Block {
  int exponent;
  std::vector<float> values;
};

Block quantized(std::string_view name, std::vector<float> x, const Values& given = {}) {
  const auto codec = make(name, given).value();
  std::uint32_t words[1];
  codec->choose(x, words);
  std::vector<float> out(x.size());
  codec->quantize(x, words, {codec->rounding(Rounding::half_even)}, out.data());
  return {static_cast<int>(words[0]), out};
}

MxOptions options_of(const Values& given) {
  const auto codec = make("mxint8", given).value();
  return static_cast<const MxCodec&>(*codec).options();
}

TEST(Mx, TheMaximumSetsAPowerOfTwoAndElementsRoundToEven) {
  const Block block = quantized("mxfp4_e2m1", {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(block.exponent, 1);
  EXPECT_THAT(block.values, ElementsAre(1, 2, 3, 4, 4, 6, 8, 8));
}

TEST(Mx, TheScaleRuleDecidesBetweenSaturationAndACoarserStep) {
  const std::vector<float> x = {7.5f, 1};
  EXPECT_THAT(quantized("mxfp4_e2m1", x, {{"scale_rule", std::string("floor")}}).values, ElementsAre(6, 1));
  EXPECT_THAT(quantized("mxfp4_e2m1", x, {{"scale_rule", std::string("ceil")}}).values, ElementsAre(8, 1));
  EXPECT_THAT(quantized("mxfp4_e2m1", x, {{"scale_rule", std::string("even")}}).values, ElementsAre(8, 1));
  EXPECT_EQ(quantized("mxfp4_e2m1", {6.5f}, {{"scale_rule", std::string("even")}}).exponent, 0);
}

TEST(Mx, Int8UsesItsLowestCodeUnlessSymmetric) {
  EXPECT_THAT(quantized("mxint8", {-1.999f}).values, ElementsAre(-2));
  EXPECT_THAT(quantized("mxint8", {-1.999f}, {{"symmetric", true}}).values, ElementsAre(-127.0f / 64));
  EXPECT_THAT(quantized("mxint8", {1.999f}).values, ElementsAre(127.0f / 64));
}

TEST(Mx, AFiniteBlockNeverDecodesToInfinity) {
  const float largest = std::numeric_limits<float>::max();
  EXPECT_THAT(quantized("mxint8", {-largest}).values, ElementsAre(-largest));
}

TEST(Mx, OneNanMakesTheBlockNanOrOnlyItsElement) {
  const Block ocp = quantized("mxfp8_e4m3", {1, kNan, 2});
  EXPECT_EQ(ocp.exponent, MxCodec::kNanExponent);
  for (const float x : ocp.values) EXPECT_TRUE(is_nan(x));
  const Block quark = quantized("mxfp8_e4m3", {1, -kInfinity, 2}, {{"profile", std::string("quark")}});
  EXPECT_THAT(quark.values, ElementsAre(1, -kInfinity, 2));
}

TEST(Mx, AScaleAboveE8m0IsClampedOrNan) {
  const float x = 3e38f;
  const Values ceil = {{"scale_rule", std::string("ceil")}};
  EXPECT_EQ(quantized("mxint8", {x}, ceil).exponent, 127);
  Values with_nan = ceil;
  with_nan["scale_overflow"] = std::string("nan");
  EXPECT_EQ(quantized("mxint8", {x}, with_nan).exponent, MxCodec::kNanExponent);
}

TEST(Mx, ABlockOfSubnormalsGetsTheLowestScale) {
  EXPECT_EQ(quantized("mxfp8_e5m2", {1e-45f}).exponent, -127);
  EXPECT_EQ(quantized("mxfp8_e5m2", {1e-45f}, {{"profile", std::string("quark")}}).exponent, -127 - 15);
}

TEST(Mx, AProfileSetsTheParametersThatAreNotGiven) {
  const MxOptions plain = options_of({{"profile", std::string("microxcaling")}});
  EXPECT_TRUE(plain.symmetric);
  EXPECT_EQ(plain.scale_overflow, ScaleOverflow::nan);
  EXPECT_EQ(plain.usual, Rounding::half_away);
  const MxOptions given = options_of(
      {{"profile", std::string("microxcaling")}, {"symmetric", false}, {"rounding_mode", std::int64_t{2}}});
  EXPECT_FALSE(given.symmetric);
  EXPECT_EQ(given.rounding, Rounding::half_even);
  EXPECT_EQ(given.scale_overflow, ScaleOverflow::nan);
}

TEST(Mx, ARoundingThatIsAskedForWinsOverTheProfiles) {
  const auto codec = make("mxint8", {{"profile", std::string("microxcaling")}}).value();
  EXPECT_EQ(codec->rounding(Rounding::half_even), Rounding::half_away);
  EXPECT_EQ(codec->rounding(Rounding::half_up), Rounding::half_up);
}

TEST(Mx, ZerosOfQuarkHaveItsSigns) {
  const Values quark = {{"profile", std::string("quark")}};
  const auto is_negative_zero = [&](std::string_view name, float x, const Values& given) {
    const float zero = quantized(name, {1, x}, given).values[1];
    EXPECT_EQ(zero, 0);
    return is_negative(zero);
  };
  EXPECT_FALSE(is_negative_zero("mxfp4_e2m1", -0.0f, quark));
  EXPECT_FALSE(is_negative_zero("mxint8", -1e-6f, quark));
  EXPECT_TRUE(is_negative_zero("mxint8", -0.0f, quark));
  Values away = quark;
  away["rounding_mode"] = std::int64_t{0};
  EXPECT_TRUE(is_negative_zero("mxint8", -1e-6f, away));
}

TEST(Mx, FloatElementsKeepTheirRoundingUnlessTheModeIsForAll) {
  const Values mode = {{"rounding_mode", std::int64_t{0}}};
  EXPECT_EQ(make("mxint8", mode).value()->rounding(Rounding::floor), Rounding::half_away);
  EXPECT_EQ(make("mxfp4_e2m1", mode).value()->rounding(Rounding::floor), Rounding::half_even);
  EXPECT_EQ(make("mxfp4_e2m1").value()->rounding(Rounding::floor), Rounding::floor);
}

TEST(Mx, PackingRejectsPoliciesWithoutCodes) {
  EXPECT_TRUE(make("mxfp6_e2m3").value()->packable().ok());
  const auto element = make("mxfp6_e2m3", {{"nonfinite", std::string("element")}}).value()->packable();
  ASSERT_FALSE(element.ok());
  EXPECT_THAT(element.error().hint, HasSubstr("nonfinite: block"));
  EXPECT_FALSE(make("mxfp6_e2m3", {{"scale_overflow", std::string("unclamped")}}).value()->packable().ok());
}

TEST(Mx, ImpossibleParametersAreRejected) {
  EXPECT_FALSE(make("mxint8", {{"rounding_mode", std::int64_t{3}}}).ok());
  EXPECT_FALSE(make("mxint8", {{"scale_rule", std::string("auto")}}).ok());
  EXPECT_FALSE(make("mxint8", {{"profile", std::string("ocp2")}}).ok());
  EXPECT_FALSE(make("mxint8", {{"symmetric", std::int64_t{1}}}).ok());
}

TEST(Mx, AnExponentOutsideE8m0IsRejected) {
  const auto codec = make("mxint8").value();
  for (const int good : {-127, 0, 127, 128}) {
    EXPECT_TRUE(codec->check(std::vector{static_cast<std::uint32_t>(good)}).ok()) << good;
  }
  for (const int bad : {-128, 129, 1 << 30}) {
    EXPECT_FALSE(codec->check(std::vector{static_cast<std::uint32_t>(bad)}).ok()) << bad;
  }
}

}  // namespace
}  // namespace anybit::formats
