// Typed fields become the bytes of raw_data, and are saved to the same field again.
#include <gmock/gmock.h>

#include <cstring>
#include <vector>

#include "graph/element_type.hpp"
#include "unit/io/onnx/model_bytes.hpp"

namespace anybit::onnx {
namespace {

using namespace testing;
using graph::ElementType;
using ::testing::HasSubstr;

constexpr std::uint32_t kFloatData = 4, kInt32Data = 5, kStringData = 6, kInt64Data = 7, kRawData = 9,
                        kDoubleData = 10, kUint64Data = 11;

template <class T>
std::string bytes_of(std::vector<T> values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string varints(const std::vector<std::int64_t>& values) {
  std::string bytes;
  for (const std::int64_t value : values) bytes += varint(static_cast<std::uint64_t>(value));
  return bytes;
}

std::string model_with(ElementType type, std::uint64_t count, const std::string& data) {
  return model_bytes(graph_bytes(initializer(tensor_bytes(static_cast<std::uint64_t>(type), count, data))));
}

struct Case {
  ElementType type;
  std::uint64_t count;
  std::string field;  // as in the file
  std::string data;   // as in raw_data
};

std::vector<Case> cases() {
  using enum ElementType;
  std::vector<Case> all = {
      {float32, 2, block(kFloatData, bytes_of<float>({1.5f, -0.0f})), bytes_of<float>({1.5f, -0.0f})},
      {complex64, 1, block(kFloatData, bytes_of<float>({1, 2})), bytes_of<float>({1, 2})},
      {float64, 2, block(kDoubleData, bytes_of<double>({1e300, -2})), bytes_of<double>({1e300, -2})},
      {complex128, 1, block(kDoubleData, bytes_of<double>({3, 4})), bytes_of<double>({3, 4})},
      {int64, 3, block(kInt64Data, varints({-1, 0, INT64_MAX})), bytes_of<std::int64_t>({-1, 0, INT64_MAX})},
      {uint64, 2, block(kUint64Data, varints({-1, 7})), bytes_of<std::uint64_t>({UINT64_MAX, 7})},
      {uint32, 2, block(kUint64Data, varints({4294967295, 7})), bytes_of<std::uint32_t>({4294967295, 7})},
      {int32, 2, block(kInt32Data, varints({INT32_MIN, 7})), bytes_of<std::int32_t>({INT32_MIN, 7})},
      {int16, 2, block(kInt32Data, varints({-32768, 32767})), bytes_of<std::int16_t>({-32768, 32767})},
      {uint16, 2, block(kInt32Data, varints({0, 65535})), bytes_of<std::uint16_t>({0, 65535})},
      {int8, 3, block(kInt32Data, varints({-128, 127, -1})), "\x80\x7f\xff"},
      {uint8, 2, block(kInt32Data, varints({0, 255})), "\0\xff"s},
      {boolean, 2, block(kInt32Data, varints({0, 1})), "\0\1"s},
      {float16, 2, block(kInt32Data, varints({0x3c00, 0xfc00})), bytes_of<std::uint16_t>({0x3c00, 0xfc00})},
      {bfloat16, 1, block(kInt32Data, varints({0xff80})), bytes_of<std::uint16_t>({0xff80})},
  };
  for (const ElementType type : {float8e4m3fn, float8e4m3fnuz, float8e5m2, float8e5m2fnuz, float8e8m0}) {
    all.push_back({type, 2, block(kInt32Data, varints({0x7f, 0x80})), "\x7f\x80"});
  }
  for (const ElementType type : {uint4, int4, float4e2m1}) {
    all.push_back({type, 3, block(kInt32Data, varints({0x21, 0x0f})), "\x21\x0f"});
  }
  for (const ElementType type : {uint2, int2}) {
    all.push_back({type, 5, block(kInt32Data, varints({0xe4, 0x03})), "\xe4\x03"});
  }
  return all;
}

TEST(TypedData, OfEveryTypeBecomesRawBytesAndGoesBack) {
  std::size_t seen = 1;  // strings have their own test
  for (const Case& each : cases()) {
    SCOPED_TRACE(graph::name_of(each.type));
    const std::string bytes = model_with(each.type, each.count, each.field);
    const graph::Model model = parsed(bytes);
    ASSERT_TRUE(model.graph);
    const graph::Tensor& tensor = model.graph->initializers.at(0);
    EXPECT_EQ(tensor.storage, graph::Storage::typed);
    EXPECT_EQ(tensor.data.text(), each.data);
    expect_kept(bytes, each.field);
    ++seen;
  }
  EXPECT_EQ(seen, graph::element_types().size());
}

TEST(TypedData, UnpackedValuesAreReadToo) {
  const std::string bytes = model_with(ElementType::int32, 2, number(kInt32Data, 1) + number(kInt32Data, 2));
  EXPECT_EQ(parsed(bytes).graph->initializers.at(0).data.text(), bytes_of<std::int32_t>({1, 2}));
}

TEST(TypedData, StringsMayHoldAnyBytes) {
  const std::string fields =
      block(kStringData, "a\0b"s) + block(kStringData, "") + block(kStringData, "\xff");
  const std::string bytes = model_with(ElementType::string, 3, fields);
  EXPECT_EQ(parsed(bytes).graph->initializers.at(0).strings, (std::vector<std::string>{"a\0b"s, "", "\xff"}));
  expect_kept(bytes, fields);
}

TEST(TypedData, AValueThatDoesNotFitIsAnErrorThatNamesTheTensor) {
  using enum ElementType;
  const std::vector<std::pair<ElementType, std::string>> bad = {
      {int8, block(kInt32Data, varints({128}))},    {int8, block(kInt32Data, varints({-129}))},
      {uint8, block(kInt32Data, varints({256}))},   {uint8, block(kInt32Data, varints({-1}))},
      {boolean, block(kInt32Data, varints({2}))},   {float16, block(kInt32Data, varints({65536}))},
      {uint16, block(kInt32Data, varints({-1}))},   {uint32, block(kUint64Data, varints({4294967296}))},
      {uint4, block(kInt32Data, varints({256}))},   {float8e5m2, block(kInt32Data, varints({-1}))},
      {bfloat16, block(kInt32Data, varints({-1}))},
  };
  for (const auto& [type, field] : bad) {
    const Error error = refusal(model_with(type, 1, field));
    EXPECT_EQ(error.code, Code::invalid_model);
    EXPECT_THAT(error.text(), HasSubstr("tensor 'w'")) << graph::name_of(type);
    EXPECT_THAT(error.text(), HasSubstr("does not fit " + graph::name_of(type)));
  }
}

TEST(TypedData, BesideRawDataItIsIgnoredButSurvives) {
  const std::string both = block(kRawData, "\1\0\0\0"s) + block(kInt32Data, varints({7}));
  const graph::Model model = parsed(model_with(ElementType::int32, 1, both));
  EXPECT_EQ(model.graph->initializers.at(0).data.text(), "\1\0\0\0"s);
  expect_kept(model_with(ElementType::int32, 1, both), block(kInt32Data, varints({7})));
  expect_kept(model_with(ElementType::int32, 1, both), block(kRawData, "\1\0\0\0"s));
}

TEST(TypedData, OfAnotherTypesFieldSurvivesToo) {
  const std::string odd = block(kRawData, "\1\0\0\0"s) + block(kFloatData, bytes_of<float>({3}));
  expect_kept(model_with(ElementType::int32, 1, odd), block(kFloatData, bytes_of<float>({3})));
}

TEST(RawData, EmptyAndAbsentStayDistinct) {
  const std::string empty = model_with(ElementType::float32, 0, block(kRawData, ""));
  const std::string absent = model_with(ElementType::float32, 0, "");
  EXPECT_TRUE(parsed(empty).graph->initializers.at(0).has_data_field);
  EXPECT_FALSE(parsed(absent).graph->initializers.at(0).has_data_field);
  EXPECT_EQ(again(empty).size(), again(absent).size() + 2);
}

TEST(RawData, ASpelledOutDefaultLocationSurvives) {
  expect_kept(model_with(ElementType::uint8, 1, block(kRawData, "x") + number(14, 0)), number(14, 0));
}

TEST(RawData, AnUnknownLocationIsRejected) {
  const Error error = refusal(model_with(ElementType::uint8, 1, block(kRawData, "x") + number(14, 7)));
  EXPECT_THAT(error.text(), HasSubstr("tensor 'w': data_location is 7"));
}

}  // namespace
}  // namespace anybit::onnx
