#include "anybit/operator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

#include "anybit/formats.hpp"

namespace anybit {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Host final : OperatorHost {
  std::vector<float> values;
  std::vector<std::int64_t> dims;
  std::atomic<std::size_t> tasks = 0;
  bool refuses = false;

  Result<void*> output(std::size_t, std::string_view, std::span<const std::int64_t> shape) override {
    if (refuses) return Error(Code::out_of_memory, "no room");
    dims.assign(shape.begin(), shape.end());
    std::size_t count = 1;
    for (const std::int64_t dim : dims) count *= static_cast<std::size_t>(dim);
    values.resize(count);
    return static_cast<void*>(values.data());
  }
  void parallel(std::size_t count, void (*task)(void*, std::size_t), void* data) override {
    tasks += count;
    OperatorHost::parallel(count, task, data);
  }
};

OperatorNode rounding(std::string format) {
  OperatorNode node{.domain = "ai.anybit", .op_type = "QuantizeDequantize", .name = "it"};
  node.attributes["format"] = std::move(format);
  return node;
}

std::string error_of(const OperatorNode& node) {
  const auto made = Operator::make(node);
  return made ? "" : made.error().text();
}

std::string error_of(const OperatorNode& node, std::vector<TensorView> inputs) {
  Host host;
  const auto done = Operator::make(node)->run(inputs, host);
  return done ? "" : done.error().text();
}

TEST(Operator, RoundsAsTensorFormatDoes) {
  std::vector<float> x(3 * 64);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) * 0.37f - 20;
  const std::int64_t dims[] = {3, 64};
  Host host;
  const auto made = Operator::make(rounding("mxfp4_e2m1 axis=1 block_size=16"));
  ASSERT_TRUE(made);
  const TensorView input{"float32", dims, x.data()};
  ASSERT_TRUE(made->run({&input, 1}, host));
  const auto format = TensorFormat::make("mxfp4_e2m1", {3, 64}, {.axis = 1, .block_size = 16});
  std::vector<float> wanted(x.size());
  ASSERT_TRUE(format->choose_and_quantize(x, wanted));
  EXPECT_EQ(host.values, wanted);
  EXPECT_THAT(host.dims, ElementsAre(3, 64));
}

TEST(Operator, ReadsValuesThatAreNotAligned) {
  const std::vector<float> x = {1.3f, -0.7f, 5.0f};
  std::vector<std::byte> bytes(sizeof(float) * x.size() + 1);
  std::memcpy(bytes.data() + 1, x.data(), sizeof(float) * x.size());
  const std::int64_t dims[] = {3};
  Host aligned, shifted;
  const auto made = Operator::make(rounding("fp8_e4m3"));
  const TensorView plain{"float32", dims, x.data()}, moved{"float32", dims, bytes.data() + 1};
  ASSERT_TRUE(made->run({&plain, 1}, aligned));
  ASSERT_TRUE(made->run({&moved, 1}, shifted));
  EXPECT_EQ(aligned.values, shifted.values);
}

TEST(Operator, LargeTensorsUseTheThreadsOfTheHost) {
  const std::vector<float> x(1 << 20, 0.3f);
  const std::int64_t dims[] = {1 << 10, 1 << 10};
  Host host;
  const auto made = Operator::make(rounding("mxint8"));
  const TensorView input{"float32", dims, x.data()};
  ASSERT_TRUE(made->run({&input, 1}, host));
  EXPECT_GT(host.tasks, 1U);
}

TEST(Operator, ErrorsNameTheNode) {
  EXPECT_THAT(error_of({.domain = "ai.anybit", .op_type = "Nothing"}),
              HasSubstr("operator Nothing: there is no operator Nothing in domain 'ai.anybit'"));
  EXPECT_THAT(error_of(rounding("no_format")), HasSubstr("node 'it' (QuantizeDequantize): "));
  OperatorNode node = rounding("mxint8");
  node.inputs = 0;
  EXPECT_THAT(error_of(node), HasSubstr("input 0 is missing"));
  node.inputs = 100'000;
  EXPECT_THAT(error_of(node), HasSubstr("100000 inputs"));
  node.inputs = 1;
  node.constants.resize(2);
  EXPECT_THAT(error_of(node), HasSubstr("2 constants for 1 inputs"));
}

TEST(Operator, InputsAreChecked) {
  const float x = 1;
  const std::int64_t one[] = {1}, negative[] = {-1}, huge[] = {std::int64_t{1} << 62, 8};
  const std::vector<std::int64_t> many(40, 1);
  const OperatorNode node = rounding("mxint8");
  EXPECT_THAT(error_of(node, {}), HasSubstr("0 inputs"));
  EXPECT_THAT(error_of(node, {{}}), HasSubstr("input 0 is missing"));
  EXPECT_THAT(error_of(node, {{"float33", one, &x}}), HasSubstr("'float33' is not an element type"));
  EXPECT_THAT(error_of(node, {{"string", one, &x}}), HasSubstr("strings"));
  EXPECT_THAT(error_of(node, {{"int32", one, &x}}), HasSubstr("int32[1]"));
  EXPECT_THAT(error_of(node, {{"float32", one, nullptr}}), HasSubstr("no data"));
  EXPECT_THAT(error_of(node, {{"float32", negative, &x}}), HasSubstr("impossible"));
  EXPECT_THAT(error_of(node, {{"float32", huge, &x}}), HasSubstr("impossible"));
  EXPECT_THAT(error_of(node, {{"float32", many, &x}}), HasSubstr("rank 40"));
}

TEST(Operator, PassesOnTheErrorOfItsHost) {
  const float x = 1;
  const std::int64_t dims[] = {1};
  Host host;
  host.refuses = true;
  const TensorView input{"float32", dims, &x};
  const auto done = Operator::make(rounding("mxint8"))->run({&input, 1}, host);
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().text(), HasSubstr("no room"));
}

TEST(Operator, OthersThanAnybitsOwnRunToo) {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6};
  const std::int64_t dims[] = {2, 3};
  OperatorNode node{.domain = "", .op_type = "Transpose", .opset = 21};
  node.attributes["perm"] = std::vector<std::int64_t>{1, 0};
  Host host;
  const TensorView input{"float32", dims, x.data()};
  ASSERT_TRUE(Operator::make(node)->run({&input, 1}, host));
  EXPECT_THAT(host.values, ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(host.dims, ElementsAre(3, 2));
}

}  // namespace
}  // namespace anybit
