// Properties of every block format: words that pass their own check and fit their field, and plausible
// ranges.
#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "formats/float_bits.hpp"
#include "formats/table.hpp"

namespace anybit::formats {
namespace {

using testing::ElementsAre;

std::vector<const Descriptor*> block_formats() {
  std::vector<const Descriptor*> found;
  for (const Descriptor* one : table()) {
    if (one->granularity == Granularity::block) found.push_back(one);
  }
  return found;
}

std::vector<std::vector<float>> hard_blocks() {
  std::vector<std::vector<float>> blocks = {{0},         {-0.0f, 0}, {1e-45f}, {3.4028235e38f, -1e-45f},
                                            {kInfinity}, {kNan, 1}};
  std::mt19937 random(7);
  for (std::size_t size = 1; size < 200; ++size) {
    std::vector<float> block(size);
    const int exponent = std::uniform_int_distribution(-149, 127)(random);
    for (float& x : block)
      x = static_cast<float>(std::ldexp(std::normal_distribution<double>()(random), exponent));
    blocks.push_back(block);
  }
  return blocks;
}

class EveryBlockFormat : public testing::TestWithParam<const Descriptor*> {};

TEST_P(EveryBlockFormat, ChoosesWordsThatPassItsCheckAndFitTheirFields) {
  const auto codec = make(GetParam()->name).value();
  for (const auto& block : hard_blocks()) {
    const auto size = static_cast<std::int64_t>(block.size());
    std::vector<std::uint32_t> words(static_cast<std::size_t>(codec->words(size)), 0xFFFFFFFFu);
    codec->choose_for_tensor(block, words);
    codec->choose(block, words);
    ASSERT_TRUE(codec->check(words).ok()) << codec->check(words).error().text();
    std::size_t word = 0;
    for (const Field& field : codec->fields(size)) {
      if (field.store == Field::Store::uint8) {
        const int stored = static_cast<int>(words[word]) + field.bias;
        EXPECT_GE(stored, 0);
        EXPECT_LT(stored, 1 << field.stored_bits);
      }
      if (field.store == Field::Store::bits && field.count % 32 != 0) {
        EXPECT_EQ(words.back() >> (field.count % 32), 0u) << "bits beyond the block";
      }
      word += static_cast<std::size_t>(field.words());
    }
  }
}

TEST_P(EveryBlockFormat, HasPropertiesAndABlockSize) {
  const Properties properties = make(GetParam()->name).value()->properties();
  EXPECT_GT(GetParam()->block_size, 0);
  EXPECT_GT(properties.bits, 1);
  EXPECT_GT(properties.largest, properties.smallest);
  EXPECT_LE(properties.lowest, -properties.largest);
  EXPECT_GT(properties.smallest, 0);
  std::string digits = properties.layout;
  std::erase(digits, ' ');
  EXPECT_EQ(static_cast<int>(digits.size()), properties.bits) << properties.layout;
}

INSTANTIATE_TEST_SUITE_P(Formats, EveryBlockFormat, testing::ValuesIn(block_formats()),
                         [](const auto& info) { return std::string(info.param->name); });

Values widths(std::int64_t width, std::int64_t exponent_width) {
  return {{"width", width}, {"exponent_width", exponent_width}};
}

TEST(BlockFp, RejectsExponentsOutsideFloat32) {
  Values values = widths(8, 8);
  values["exponent_bias"] = std::int64_t{100};
  const auto result = make("block_fp", values);
  ASSERT_FALSE(result.ok());
  EXPECT_NE(result.error().hint.find("127 to 142"), std::string::npos) << result.error().text();
  values["exponent_bias"] = std::int64_t{143};
  EXPECT_FALSE(make("block_fp", values).ok());
  values["exponent_bias"] = std::int64_t{2000000000};
  EXPECT_FALSE(make("block_fp", values).ok());
}

TEST(BlockFp, RejectsWidthsThatHoldNothing) {
  EXPECT_FALSE(make("block_fp", widths(1, 8)).ok());
  EXPECT_FALSE(make("block_fp", widths(8, 0)).ok());
  EXPECT_FALSE(make("block_fp", widths(17, 8)).ok());
}

TEST(BlockFp, RejectsAnExponentOutOfItsField) {
  const auto codec = make("block_fp", widths(8, 4)).value();  // -7 … 8
  EXPECT_TRUE(codec->check(std::vector{8u}).ok());
  EXPECT_FALSE(codec->check(std::vector{9u}).ok());
  EXPECT_FALSE(codec->check(std::vector{static_cast<std::uint32_t>(-8)}).ok());
}

TEST(BlockFp, TheExponentGrowsWhenTheMaximumRoundsUp) {
  const auto codec = make("bfp16").value();
  std::uint32_t words[1];
  codec->choose(std::vector{127.0f / 128}, words);
  EXPECT_EQ(static_cast<int>(words[0]), 0);
  codec->choose(std::vector{127.5f / 128}, words);  // a tie: 128 does not fit
  EXPECT_EQ(static_cast<int>(words[0]), 1);
}

TEST(BlockMinifloat, RejectsAnExponentThatLeavesNoSign) {
  EXPECT_FALSE(make("block_minifloat", widths(4, 4)).ok());
  EXPECT_TRUE(make("block_minifloat", widths(4, 3)).ok());
}

TEST(BlockLog, TheMaximumTakesTheTopCode) {
  const auto codec = make("block_log", {{"width", std::int64_t{3}}}).value();
  const std::vector<float> x = {6, -3, 1, 0};
  std::uint32_t words[1];
  codec->choose(x, words);
  std::vector<float> out(x.size());
  codec->quantize(x, words, {}, out.data());
  EXPECT_EQ(out, (std::vector<float>{8, -4, 1, 1}));
}

TEST(SharedMicro, APairOfSmallValuesHasTheFinerStep) {
  const auto codec = make("mx4").value();  // M of 0 … 3
  const std::vector<float> x = {3, 0.5f, 1.5f, 0.5f};
  std::vector<std::uint32_t> words(2);
  codec->choose(x, words);
  EXPECT_EQ(words[0], 2u);
  EXPECT_EQ(words[1], 0b10u);
  std::vector<float> out(x.size());
  codec->quantize(x, words, {}, out.data());
  EXPECT_EQ(out, (std::vector<float>{3, 0, 1.5f, 0.5f}));
}

TEST(Nvfp4, InvalidScalesAreRejected) {
  const auto codec = make("nvfp4").value();
  EXPECT_TRUE(codec->check(std::vector{bits_of(0.5f), 0x7Eu}).ok());
  for (const float bad : {0.0f, -1.0f, kNan, kInfinity}) {
    EXPECT_FALSE(codec->check(std::vector{bits_of(bad), 0x38u}).ok()) << bad;
  }
  EXPECT_FALSE(codec->check(std::vector{bits_of(1.0f), 0x7Fu}).ok());
  EXPECT_FALSE(codec->check(std::vector{bits_of(1.0f), 0x80u}).ok());
}

TEST(Nvfp4, ABlockMuchSmallerThanItsTensorIsZeros) {
  const auto codec = make("nvfp4").value();
  std::uint32_t words[2];
  codec->choose_for_tensor(std::vector{1.0f, 1e-9f}, words);
  codec->choose(std::vector{1e-9f, -1e-9f}, words);
  EXPECT_EQ(words[1], 0u);
  Code16 codes[2] = {1, 1};
  codec->encode(std::vector{1e-9f, -1e-9f}, words, {}, codes);
  EXPECT_EQ(codes[0] | codes[1], 0);
}

std::vector<float> fake_quantized(std::string_view name, const std::vector<float>& x, const Values& given) {
  const auto codec = make(name, given).value();
  std::vector<std::uint32_t> words(
      static_cast<std::size_t>(codec->words(static_cast<std::int64_t>(x.size()))));
  codec->choose(x, words);
  std::vector<float> out(x.size());
  codec->quantize(x, words, {Rounding::half_even}, out.data());
  return out;
}

TEST(BlockFp, AMaximumThatRoundsUpSaturatesInQuarksProfile) {
  const std::vector<float> x = {0.999f, 0.3f, 0.1f, 0, 0, 0, 0, 0};
  EXPECT_THAT(fake_quantized("bfp16", x, {}), ElementsAre(1, .296875f, .09375f, 0, 0, 0, 0, 0));
  EXPECT_THAT(fake_quantized("bfp16", x, {{"profile", std::string("quark")}}),
              ElementsAre(.9921875f, .296875f, .1015625f, 0, 0, 0, 0, 0));
  EXPECT_THAT(fake_quantized("bfp16", x, {{"profile", std::string("quark_compiler")}}),
              ElementsAre(1, .296875f, .09375f, 0, 0, 0, 0, 0));
  EXPECT_THAT(fake_quantized("bfp16", {-0.999f}, {{"profile", std::string("quark_compiler")}}),
              ElementsAre(-1));
}

TEST(BlockFp, InfinityIsOutsideOfTheSharedExponentInQuarksProfile) {
  const std::vector<float> made =
      fake_quantized("bfp16", {1, -kInfinity, kNan, 0.25f}, {{"profile", std::string("quark")}});
  EXPECT_EQ(made[0], 1);
  EXPECT_EQ(made[1], -kInfinity);
  EXPECT_TRUE(is_nan(made[2]));
  EXPECT_EQ(made[3], 0.25f);
}

TEST(BlockFp, WhatHasNoCodeIsNotPackable) {
  EXPECT_FALSE(make("bfp16", {{"profile", std::string("quark")}}).value()->packable().ok());
  EXPECT_TRUE(make("bfp16", {{"profile", std::string("quark")}, {"nonfinite", std::string("saturate")}})
                  .value()
                  ->packable()
                  .ok());
  EXPECT_FALSE(make("bfp16", {{"exponent_rule", std::string("fit_positive")}}).value()->packable().ok());
}

TEST(BfpPrime, ASubBlockShiftsItsStep) {
  const Values width = {{"width", std::int64_t{3}}};  // steps of a half, or of a quarter in the second pair
  EXPECT_THAT(fake_quantized("bfp_prime", {1, 0.6f, 0.3f, 0.6f}, width), ElementsAre(1, 0.5f, 0.25f, 0.5f));
  EXPECT_THAT(fake_quantized("bfp_prime", {1.99f, 0, 0, 1e-40f}, width), ElementsAre(1.5f, 0, 0, 0));
  for (const float x : fake_quantized("bfp_prime", {1, kInfinity}, width)) EXPECT_TRUE(is_nan(x));
}

TEST(BfpPrime, AShiftOutOfRangeIsRejected) {
  const auto codec = make("bfp_prime").value();
  EXPECT_TRUE(codec->check(std::vector<std::uint32_t>{0, 1}).ok());
  EXPECT_FALSE(codec->check(std::vector<std::uint32_t>{0, 2}).ok());
  EXPECT_FALSE(codec->check(std::vector<std::uint32_t>{200, 0}).ok());
}

}  // namespace
}  // namespace anybit::formats
