// Formats without blocks: invalid parameters and invalid words.
#include <gtest/gtest.h>

#include "formats/float_bits.hpp"
#include "formats/sums.hpp"
#include "formats/table.hpp"

namespace anybit::formats {
namespace {

struct Refused {
  std::string_view format;
  Values values;
};

TEST(ScalarFormats, ImpossibleParametersAreRejectedWithAHint) {
  const std::int64_t one = 1, big = 17, far = 1000;
  const Refused all[] = {
      {"minifloat", {{"width", one}}},
      {"minifloat_ieee", {{"width", std::int64_t{16}}, {"exponent_width", std::int64_t{8}}}},
      {"minifloat_denorm", {{"width", std::int64_t{4}}, {"exponent_width", std::int64_t{3}}}},
      {"minifloat_denorm", {{"exponent_bias", far}}},
      {"fixed", {{"width", std::int64_t{33}}}},
      {"fixed", {{"width", big}, {"frac", std::string("auto")}}},
      {"fixed", {{"width", big}, {"frac", std::string("127")}}},
      {"log", {{"profile", std::string("mase")}, {"with_zero", true}}},
      {"block_log", {{"profile", std::string("mase")}, {"with_zero", true}}},
      {"block_minifloat",
       {{"profile", std::string("mase")}, {"width", std::int64_t{16}}, {"exponent_width", std::int64_t{8}}}},
      {"fixed", {{"frac", far}}},
      {"fixed", {{"frac", std::string("some")}}},
      {"log", {{"width", one}}},
      {"log", {{"exponent_bias", far}}},
      {"binary", {{"scale", std::string("median")}}},
      {"binary_residual", {{"levels", std::int64_t{0}}}},
      {"binary_residual", {{"levels", std::int64_t{2}}, {"gammas", std::string("0.5")}}},
      {"binary_residual", {{"levels", std::int64_t{2}}, {"gammas", std::string("0.5,-1")}}},
      {"binary_residual", {{"levels", std::int64_t{2}}, {"gammas", std::string("0.5,0.25,")}}},
      {"ternary", {{"threshold", -1.0}}},
      {"ternary", {{"basis", std::string("mode")}}},
      {"int8", {{"eps", -1.0}}},
      {"int8", {{"narrow", std::string("maybe")}}},
  };
  for (const Refused& one_case : all) {
    const auto result = make(one_case.format, one_case.values);
    ASSERT_FALSE(result.ok()) << one_case.format;
    EXPECT_FALSE(result.error().hint.empty()) << result.error().text();
  }
}

TEST(ScalarFormats, InvalidWordsAreRejected) {
  const std::uint32_t one = bits_of(1), half = bits_of(0.5f), zero = 0, minus = bits_of(-1);
  using Bits = std::vector<std::uint32_t>;
  const auto check = [](std::string_view name, const Values& values, const Bits& words) {
    return (*make(name, values))->check(words).ok();
  };
  const Values mean{{"scale", std::string("mean")}}, automatic{{"frac", std::string("auto")}};
  EXPECT_TRUE(check("binary", mean, {one}));
  EXPECT_FALSE(check("binary", mean, {zero}));
  EXPECT_TRUE(check("ternary", mean, {zero, one}));
  EXPECT_FALSE(check("ternary", mean, {minus, one}));
  EXPECT_FALSE(check("ternary", mean, {one, bits_of(kNan)}));
  EXPECT_TRUE(check("binary_residual", {}, {one, half}));
  EXPECT_FALSE(check("binary_residual", {}, {half, one}));
  EXPECT_FALSE(check("binary_residual", {}, {one, zero}));
  EXPECT_TRUE(check("fixed", automatic, {4}));
  EXPECT_FALSE(check("fixed", automatic, {1000}));
}

// ±α has no zero, and a scale of 0 is an error everywhere: the smallest scale is nearest to zero.
TEST(ScalarFormats, ZerosHaveTheSmallestScaleWhereNoCodeIsZero) {
  const auto codec = *make("binary", {{"scale", std::string("mean")}});
  const float zeros[] = {0.0f, -0.0f};
  std::uint32_t scale = 0;
  codec->choose(zeros, {&scale, 1});
  EXPECT_EQ(float_of(scale), 0x1p-126f);
  EXPECT_TRUE(codec->check({&scale, 1}).ok());
}

TEST(Sums, AreTakenInChunksOfIndexOrder) {
  // In one pass the ones would vanish beside 2^53; in chunks of 4096 they are first added to each other.
  const auto term = [](std::size_t i) { return i == 0 ? 0x1p53 : i < kSumChunk ? 0.0 : 1.0; };
  EXPECT_EQ(chunked_sum(2 * kSumChunk, term), 0x1p53 + 4096);
  EXPECT_EQ(chunked_sum(0, term), 0);
}

}  // namespace
}  // namespace anybit::formats
