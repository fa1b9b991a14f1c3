#include "quantize/parameters.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace anybit::quantizing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Spec spec(const char* text) { return *parse_spec(text); }

graph::Tensor tensor(std::vector<std::int64_t> dims, std::vector<float> values) {
  graph::Tensor result;
  result.name = graph::Text("w");
  result.element = static_cast<std::int32_t>(graph::ElementType::float32);
  result.dims = std::move(dims);
  result.data = Bytes::own(std::move(values));
  return result;
}

QuantizedConstant quantized(const graph::Tensor& of, const char* text, std::int64_t axis = 0,
                            std::vector<double> least = {}) {
  ThreadPool pool(2);
  auto made = quantize_constant(of, spec(text), axis, least, pool);
  EXPECT_TRUE(made.ok()) << made.error().text();
  return *made;
}

std::vector<int> int8s(const QuantizedConstant& of) {
  std::vector<int> values;
  for (std::size_t i = 0; i < of.quantized.data.size(); ++i)
    values.push_back(of.quantized.data.at<std::int8_t>(i));
  return values;
}

TEST(Parameters, OfAnAsymmetricRangeHoldZeroExactly) {
  const lower::Parameters made = from_range({1.0F, 3.0F}, spec("uint8 asym"));
  EXPECT_FLOAT_EQ(made.scales[0], 3.0F / 255);
  EXPECT_EQ(made.zero_points[0], 0);
  const lower::Parameters below = from_range({-3.0F, -1.0F}, spec("int8 asym"));
  EXPECT_EQ(below.zero_points[0], 127);
}

TEST(Parameters, OfAnEmptyRangeAreUsable) {
  for (const float x : {0.0F, std::numeric_limits<float>::denorm_min()}) {
    const lower::Parameters made = from_range({-x, x}, spec("int8 asym"));
    EXPECT_EQ(made.scales[0], 1.0F);
    EXPECT_GE(made.zero_points[0], -128);
    EXPECT_LE(made.zero_points[0], 127);
  }
}

TEST(Parameters, OfTheLargestRangeAreFinite) {
  const float most = std::numeric_limits<float>::max();
  for (const char* text : {"int8 asym", "int8 sym", "uint16 asym", "int2 sym"})
    EXPECT_TRUE(std::isfinite(from_range({-most, most}, spec(text)).scales[0])) << text;
}

TEST(Parameters, OfFixedRangesArePowersOfTwo) {
  EXPECT_EQ(from_fixed({0, 1}, spec("int8 asym")).scales[0], 1.0F / 256);
  EXPECT_EQ(from_fixed({0, 1}, spec("int8 asym")).zero_points[0], -128);
  EXPECT_EQ(from_fixed({-1, 1}, spec("uint8 asym")).scales[0], 2.0F / 256);
  EXPECT_EQ(from_fixed({-1, 1}, spec("uint8 asym")).zero_points[0], 128);
  EXPECT_EQ(from_fixed({0, 1}, spec("int16 sym")).scales[0], 1.0F / 32768);
  EXPECT_EQ(from_fixed({0, 1}, spec("int16 sym")).zero_points[0], 0);
}

TEST(Weights, HaveOneScalePerChannelOfAnyAxis) {
  const graph::Tensor w = tensor({2, 3}, {1, -2, 3, 4, 5, -6});
  EXPECT_THAT(quantized(w, "int8 sym channel", 0).parameters.scales, ElementsAre(3.0F / 127, 6.0F / 127));
  EXPECT_THAT(quantized(w, "int8 sym channel", 1).parameters.scales,
              ElementsAre(4.0F / 127, 5.0F / 127, 6.0F / 127));
  EXPECT_THAT(int8s(quantized(w, "int8 sym channel", 1)), ElementsAre(32, -51, 64, 127, 127, -127));
  EXPECT_THAT(quantized(w, "int8 sym tensor").parameters.dims, ElementsAre());
}

TEST(Weights, OfAChannelOfZerosTakeTheLargestScale) {
  const QuantizedConstant made = quantized(tensor({3, 2}, {0, 0, 127, 1, -254, 2}), "int8 sym channel");
  EXPECT_THAT(made.parameters.scales, ElementsAre(2.0F, 1.0F, 2.0F));
  EXPECT_THAT(quantized(tensor({1, 2}, {0, 0}), "int8 sym channel").parameters.scales, ElementsAre(1.0F));
}

TEST(Weights, InBlocksMayHaveAShortLastOne) {
  const graph::Tensor along = tensor({2, 5}, {7, 1, 14, 2, 21, 28, 4, 35, 5, 42});
  const QuantizedConstant made = quantized(along, "int4 sym block 2", 1);
  EXPECT_THAT(made.parameters.dims, ElementsAre(2, 3));
  EXPECT_THAT(made.parameters.scales, ElementsAre(1, 2, 3, 4, 5, 6));
  const QuantizedConstant down = quantized(tensor({3, 2}, {7, 14, -3, 0, 21, 28}), "int4 sym block 2", 0);
  EXPECT_THAT(down.parameters.dims, ElementsAre(2, 2));
  EXPECT_THAT(down.parameters.scales, ElementsAre(1, 2, 3, 4));
}

TEST(Weights, OfFourBitsArePackedLowFirst) {
  const QuantizedConstant made = quantized(tensor({3}, {7, -7, 1}), "int4 sym tensor");
  ASSERT_EQ(made.quantized.data.size(), 2U);
  EXPECT_EQ(made.quantized.data.at<std::uint8_t>(0), 0x97);
  EXPECT_EQ(made.quantized.data.at<std::uint8_t>(1), 0x01);
}

TEST(Weights, ScalesAreIncreasedWhereABiasRequiresIt) {
  const QuantizedConstant made = quantized(tensor({2, 1}, {127, 127}), "int8 sym channel", 0, {0.5, 4.0});
  EXPECT_THAT(made.parameters.scales, ElementsAre(1.0F, 4.0F));
  EXPECT_EQ(made.raised, 1);
}

TEST(Weights, NanAndInfinityAreRejectedWithTheirName) {
  ThreadPool pool(1);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const auto made = quantize_constant(tensor({2}, {1, bad}), spec("int8 sym tensor"), 0, {}, pool);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, Code::invalid_data);
    EXPECT_THAT(made.error().text(), HasSubstr("'w'"));
  }
}

TEST(Weights, AreTheSameForAnyNumberOfThreads) {
  const unsigned seed = std::random_device()();
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(301 * 517);
  for (float& x : values) x = normal(random);
  const graph::Tensor w = tensor({301, 517}, values);
  for (const char* text :
       {"int8 sym channel", "int4 sym block 32", "uint8 asym tensor", "int16 sym channel"}) {
    for (const std::int64_t axis : {0, 1}) {
      ThreadPool one(1), four(4);
      const auto a = quantize_constant(w, spec(text), axis, {}, one),
                 b = quantize_constant(w, spec(text), axis, {}, four);
      ASSERT_TRUE(a.ok() && b.ok());
      EXPECT_EQ(a->parameters, b->parameters) << text << ", seed " << seed;
      EXPECT_EQ(a->quantized.data.text(), b->quantized.data.text()) << text << ", seed " << seed;
      EXPECT_EQ(a->noise, b->noise) << text << ", seed " << seed;
    }
  }
}

TEST(Weights, HaveErrorsWithinTheirStep) {
  std::vector<float> values;
  for (int i = -127; i <= 127; ++i) values.push_back(static_cast<float>(i));
  const QuantizedConstant made = quantized(tensor({255}, values), "int8 sym tensor");
  EXPECT_EQ(made.noise, 0.0);
  EXPECT_GT(made.signal, 0.0);
}

// Packed chunks begin at whole bytes for any size: odd row lengths, partial blocks.
TEST(Weights, ArePackedAsTheirDefinitionSaysForAnyShape) {
  const unsigned seed = std::random_device()();
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  for (int round = 0; round < 30; ++round) {
    const auto below = [&](unsigned n) { return static_cast<std::int64_t>(random() % n); };
    const std::int64_t rows = 1 + below(300), columns = 1 + below(500), axis = below(2),
                       block = 1 + below(40);
    std::vector<float> values(static_cast<std::size_t>(rows * columns));
    for (float& x : values) x = normal(random);
    const std::string text = fmt::format("int4 sym {}", round % 3 == 0   ? "tensor"
                                                        : round % 3 == 1 ? "channel"
                                                                         : fmt::format("block {}", block));
    const QuantizedConstant made = quantized(tensor({rows, columns}, values), text.c_str(), axis);
    const lower::Parameters& by = made.parameters;
    const std::int64_t each = by.block_size > 0 ? by.block_size : 1;
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      const std::int64_t row = i / columns, column = i % columns, group = (axis == 0 ? row : column) / each;
      const std::int64_t at = by.dims.empty()       ? 0
                              : by.dims.size() == 1 ? group
                              : axis == 0           ? group * by.dims[1] + column
                                                    : row * by.dims[1] + group;
      const float steps =
          std::nearbyint(values[static_cast<std::size_t>(i)] / by.scales[static_cast<std::size_t>(at)]);
      const int byte = made.quantized.data.at<std::uint8_t>(static_cast<std::size_t>(i / 2));
      ASSERT_EQ((i % 2 == 0 ? byte : byte >> 4) & 15, static_cast<int>(steps) & 15)
          << text << " of " << rows << " x " << columns << " along " << axis << ", seed " << seed;
    }
  }
}

}  // namespace
}  // namespace anybit::quantizing
