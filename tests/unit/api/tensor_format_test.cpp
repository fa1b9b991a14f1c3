// The public header of number formats: rejected input, and accepted input passed on unchanged.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "anybit/formats.hpp"

namespace anybit {
namespace {

using ::testing::HasSubstr;
using Dims = std::vector<std::int64_t>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TensorFormat make(std::string_view name, Dims dims, const TensorFormatOptions& options = {}) {
  auto made = TensorFormat::make(name, std::move(dims), options);
  EXPECT_TRUE(made.ok()) << made.error().text();
  return *made;
}

Error refused(std::string_view name, Dims dims, const TensorFormatOptions& options = {}) {
  const auto made = TensorFormat::make(name, std::move(dims), options);
  EXPECT_FALSE(made.ok());
  return made.ok() ? Error{} : made.error();
}

TEST(TensorFormat, SuggestsTheNearestNamesForAnUnknownOne) {
  const Error error = refused("mxfp4_e2m2", {4});
  EXPECT_EQ(error.code, Code::not_found);
  EXPECT_THAT(error.hint, HasSubstr("mxfp4_e2m1"));
}

TEST(TensorFormat, RejectsInvalidParameters) {
  EXPECT_EQ(refused("minifloat", {4}, {.parameters = {{"width", std::int64_t{1}}}}).code,
            Code::invalid_argument);
  EXPECT_THAT(refused("minifloat", {4}, {.parameters = {{"widht", std::int64_t{8}}}}).hint,
              HasSubstr("width"));
  EXPECT_EQ(refused("fp8_e4m3", {4}, {.parameters = {{"saturate", std::string("maybe")}}}).code,
            Code::invalid_argument);
}

TEST(TensorFormat, RejectsInvalidAxesBlocksAndThreads) {
  EXPECT_THAT(refused("mxint8", {4, 8}, {.axis = 2}).text(), HasSubstr("axis 2"));
  EXPECT_THAT(refused("mxint8", {4, 8}, {.axis = -3}).text(), HasSubstr("axis -3"));
  EXPECT_THAT(refused("mxint8", {4, 8}, {.block_size = 0}).text(), HasSubstr("block size 0"));
  EXPECT_THAT(refused("mxint8", {4, 8}, {.block = {0, 4}}).text(), HasSubstr("block size 0"));
  EXPECT_FALSE(refused("mxint8", {4, 8}, {.block_size = 4, .block = {1, 4}}).message.empty());
  EXPECT_FALSE(refused("mxint8", {4, -8}).message.empty());
  EXPECT_FALSE(
      refused("fp4_e2m1", {4}, {.granularity = Granularity::element, .block_size = 2}).message.empty());
  EXPECT_FALSE(refused("fp4_e2m1", {4}, {.threads = -1}).message.empty());
}

TEST(TensorFormat, RejectsTensorsBeyondTheAddressSpace) {
  EXPECT_EQ(refused("int8", {std::int64_t{1} << 62}).code, Code::limit_exceeded);
  EXPECT_FALSE(TensorFormat::make("int8", {std::int64_t{1} << 40, std::int64_t{1} << 40}).ok());
}

TEST(TensorFormat, NamesTheFirstValueThatIsNotFinite) {
  const TensorFormat format = make("int8", {2, 3});
  std::vector<float> x = {1, 2, 3, 4, kNan, kNan}, out(6);
  for (const Error& error : {format.choose(x).error(), format.choose_and_quantize(x, out).error()}) {
    EXPECT_EQ(error.code, Code::invalid_data);
    EXPECT_EQ(error.place, "value [1, 1]");
    EXPECT_THAT(error.message, HasSubstr("NaN"));
  }
  x[2] = -std::numeric_limits<float>::infinity();
  EXPECT_EQ(format.choose(x).error().place, "value [0, 2]");
  EXPECT_TRUE(make("int8", {2, 3}, {.allow_nonfinite = true}).choose(x).ok());
}

TEST(TensorFormat, NamesTheFirstValueThatIsNotFiniteForAnyNumberOfThreads) {
  std::vector<float> x(300'000, 1.0f);
  x[299'999] = x[150'001] = x[150'000] = kNan;
  for (const int threads : {1, 2, 5}) {
    const auto error = make("fp8_e4m3", {300'000}, {.threads = threads}).choose(x).error();
    EXPECT_EQ(error.place, "value [150000]");
  }
}

TEST(TensorFormat, RejectsSpansOfTheWrongSize) {
  const TensorFormat format = make("mxfp6_e2m3", {4, 8});
  std::vector<float> x(32, 1.0f), short_out(31), out(32);
  std::vector<std::uint16_t> codes(32), short_codes(33);
  std::vector<std::uint8_t> packed(static_cast<std::size_t>(format.packed_bytes())),
      short_packed(packed.size() - 1);
  const auto p = format.choose(x);
  ASSERT_TRUE(p.ok());
  EXPECT_FALSE(format.choose(std::span(x).first(31)).ok());
  EXPECT_FALSE(format.encode(x, *p, short_codes).ok());
  EXPECT_FALSE(format.decode(codes, *p, short_out).ok());
  EXPECT_FALSE(format.quantize(x, *p, short_out).ok());
  EXPECT_FALSE(format.encode_packed(x, *p, short_packed).ok());
  EXPECT_FALSE(format.decode_packed(short_packed, *p, out).ok());
  EXPECT_FALSE(format.pack(codes, short_packed).ok());
  EXPECT_FALSE(format.unpack(packed, short_codes).ok());
  EXPECT_FALSE(format.losses(x, *p, short_out).ok());
  EXPECT_THAT(format.decode(codes, {0, 0, 0}, out).error().text(), HasSubstr("3 words"));
}

TEST(TensorFormat, RejectsCodesThatDoNotFitTheirBits) {
  const TensorFormat format = make("fp4_e2m1", {3});
  std::vector<float> out(3);
  std::vector<std::uint8_t> packed(2);
  const std::vector<std::uint16_t> codes = {1, 16, 2};
  EXPECT_EQ(format.decode(codes, {}, out).error().place, "value [1]");
  EXPECT_EQ(format.pack(codes, packed).error().place, "value [1]");
}

TEST(TensorFormat, RejectsAScaleOfZeroOrNan) {
  const TensorFormat format = make("int8", {4}, {.granularity = Granularity::tensor});
  std::vector<float> x = {1, 2, 3, 4}, out(4);
  auto fields = *format.store(*format.choose(x));
  ASSERT_EQ(fields[0].name, "scale");
  ASSERT_TRUE(format.restore(fields).ok());
  for (const float scale : {0.0f, -1.0f, kNan, std::numeric_limits<float>::infinity()}) {
    std::memcpy(fields[0].bytes.data(), &scale, 4);
    const auto restored = format.restore(fields);
    ASSERT_FALSE(restored.ok()) << scale;
    EXPECT_THAT(restored.error().text(), HasSubstr("group 0"));
  }
}

TEST(TensorFormat, RejectsAnInvalidRange) {
  const TensorFormat format = make("int8", {4});
  EXPECT_FALSE(format.choose_from_range(1, -1).ok());
  EXPECT_FALSE(format.choose_from_range(kNan, 1).ok());
  EXPECT_FALSE(format.choose_from_range(0, std::numeric_limits<float>::infinity()).ok());
  EXPECT_TRUE(format.choose_from_range(-1, 1).ok());
}

TEST(TensorFormat, DoesNotPackValuesThatHaveNoCodes) {
  const TensorFormat format = make("mxint8", {4}, {.parameters = {{"profile", std::string("quark")}}});
  std::vector<float> x = {1, 2, 3, 4}, out(4);
  std::vector<std::uint8_t> packed(4);
  EXPECT_TRUE(format.choose_and_quantize(x, out).ok());
  EXPECT_FALSE(format.choose_and_pack(x, packed).ok());
}

TEST(TensorFormat, RejectsFieldsThatAreMissingUnknownOrOfAnotherShape) {
  const TensorFormat format = make("mxfp4_e2m1", {2, 64});
  const std::vector<float> x(128, 1.0f);
  const auto fields = *format.store(*format.choose(x));
  EXPECT_EQ(fields[0].dims, (Dims{2, 2}));
  EXPECT_FALSE(format.restore({}).ok());
  auto wrong = fields;
  wrong[0].dims = {4};
  EXPECT_FALSE(format.restore(wrong).ok());
  wrong = fields;
  wrong[0].type = "int8";
  EXPECT_FALSE(format.restore(wrong).ok());
  wrong = fields;
  wrong[0].bytes.pop_back();
  EXPECT_FALSE(format.restore(wrong).ok());
  wrong = fields;
  wrong.push_back({"extra", "uint8", {}, {std::byte{0}}});
  EXPECT_FALSE(format.restore(wrong).ok());
}

TEST(TensorFormat, CountsSaturatedAndFlushedValues) {
  const TensorFormat format = make("fp4_e2m1", {5});
  const std::vector<float> x = {0.1f, 7.0f, -1.0f, 0.0f, 3.25f};
  std::vector<float> out(5);
  const auto p = format.choose_and_quantize(x, out);
  ASSERT_TRUE(p.ok());
  EXPECT_EQ(out, (std::vector<float>{0, 6, -1, 0, 3}));
  const auto losses = format.losses(x, *p, out);
  ASSERT_TRUE(losses.ok());
  EXPECT_EQ(losses->saturated, 1);
  EXPECT_EQ(losses->flushed, 1);
  EXPECT_EQ(losses->largest_error, 1.0);
  EXPECT_EQ(losses->largest_error_at, 1);
  double signal = 0, noise = 0;
  for (std::size_t i = 0; i < 5; ++i) {
    signal += static_cast<double>(x[i]) * x[i];
    noise += std::pow(static_cast<double>(x[i]) - out[i], 2);
  }
  EXPECT_NEAR(losses->sqnr, 10 * std::log10(signal / noise), 1e-12);
  EXPECT_NEAR(losses->mean_squared_error, noise / 5, 1e-15);
}

TEST(TensorFormat, AnEmptyTensorHasNoLosses) {
  const TensorFormat format = make("fp4_e2m1", {0});
  const auto losses = format.losses({}, {}, {});
  ASSERT_TRUE(losses.ok());
  EXPECT_TRUE(std::isinf(losses->sqnr));
  EXPECT_EQ(losses->largest_error_at, -1);
}

TEST(ListFormats, EveryFormatHasPlausibleProperties) {
  const auto formats = list_formats();
  ASSERT_TRUE(formats.ok()) << formats.error().text();
  EXPECT_GE(formats->size(), 60u);
  for (const FormatInfo& f : *formats) {
    SCOPED_TRACE(f.name);
    EXPECT_FALSE(f.summary.empty());
    EXPECT_GE(f.bits, 1);
    EXPECT_LE(f.bits, 16);
    EXPECT_GE(f.bits_per_value, f.bits);
    EXPECT_LT(f.lowest, f.largest);
    EXPECT_GT(f.smallest, 0);
    EXPECT_TRUE(std::isfinite(f.largest) && std::isfinite(f.lowest));
    EXPECT_EQ(f.granularity == Granularity::block, f.block_size > 0);
    const auto letters = std::count_if(f.layout.begin(), f.layout.end(), [](char c) { return c != ' '; });
    EXPECT_EQ(letters, f.bits) << f.layout;
    for (const FormatParameter& p : f.parameters) EXPECT_FALSE(p.doc.empty()) << p.name;
  }
}

TEST(ListFormats, BitsPerValueIncludeScales) {
  EXPECT_EQ(describe_format("mxfp4_e2m1")->bits_per_value, 4.25);
  EXPECT_EQ(describe_format("mxint8")->bits_per_value, 8.25);
  EXPECT_EQ(describe_format("nvfp4")->bits_per_value, 4.5);
  EXPECT_EQ(describe_format("mx9")->bits_per_value, 9);
  EXPECT_EQ(describe_format("minifloat", {{"width", std::int64_t{6}}})->bits, 6);
}

TEST(ParseParameter, ParsesTheTypeOfTheParameter) {
  EXPECT_EQ(*parse_parameter("minifloat", "width", "6"), ParameterValue(std::int64_t{6}));
  EXPECT_EQ(*parse_parameter("fp8_e4m3", "saturate", "false"), ParameterValue(false));
  EXPECT_EQ(*parse_parameter("ternary", "threshold", "0.5"), ParameterValue(0.5));
  EXPECT_EQ(*parse_parameter("mxint8", "rounding_mode", "2"), ParameterValue(std::string("2")));
  EXPECT_FALSE(parse_parameter("minifloat", "width", "six").ok());
  EXPECT_FALSE(parse_parameter("fp8_e4m3", "saturate", "1").ok());
  EXPECT_THAT(parse_parameter("fp8_e4m3", "saturat", "true").error().hint, HasSubstr("saturate"));
  EXPECT_EQ(parse_parameter("fp9", "saturate", "true").error().code, Code::not_found);
}

// restore() inverts store(): for every format, decoding gives the same.
TEST(TensorFormat, DecodesTheSameFromStoredFields) {
  const auto formats = list_formats();
  ASSERT_TRUE(formats.ok());
  std::vector<float> x(77 * 3);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = std::sin(static_cast<float>(i)) * (i % 7 == 0 ? 10.0f : 0.5f);
  for (const FormatInfo& f : *formats) {
    SCOPED_TRACE(f.name);
    const TensorFormat format = make(f.name, {3, 77});
    std::vector<std::uint8_t> packed(static_cast<std::size_t>(format.packed_bytes()));
    std::vector<float> direct(x.size()), restored(x.size());
    const auto p = format.choose_and_pack(x, packed);
    ASSERT_TRUE(p.ok()) << p.error().text();
    ASSERT_TRUE(format.decode_packed(packed, *p, direct).ok());
    const auto fields = format.store(*p);
    ASSERT_TRUE(fields.ok()) << fields.error().text();
    const auto back = format.restore(*fields);
    ASSERT_TRUE(back.ok()) << back.error().text();
    ASSERT_TRUE(format.decode_packed(packed, *back, restored).ok());
    EXPECT_EQ(direct, restored);
  }
}

}  // namespace
}  // namespace anybit
