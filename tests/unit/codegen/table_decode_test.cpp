// Packed weights of every format in programs built for code generation.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/thread_pool.hpp"
#include "formats/use.hpp"
#include "kernels/codec/stored_fields.hpp"
#include "runtime/build.hpp"
#include "runtime/context.hpp"
#include "unit/ops/graphs.hpp"

namespace anybit::codegen {
namespace {

using graph::make_tensor;
using ops::testing::attribute;
using ops::testing::node;
using ops::testing::value;

constexpr unsigned kSeed = 7;

// y = x + Decode(packed random numbers [6, 40]), packed under other dimensions.
graph::Model model_with(const kernels::TensorCodec& codec, const formats::Use& use, ThreadPool& pool) {
  std::mt19937 random(kSeed);
  std::normal_distribution<float> normal;
  std::vector<float> values(240);
  for (float& one : values) one = normal(random);
  std::vector<std::byte> codes(static_cast<std::size_t>(codec.packed_bytes()));
  const auto parameters = codec.choose_and_pack(values, reinterpret_cast<std::uint8_t*>(codes.data()), pool);
  graph::Graph graph;
  graph.inputs = {value("x", {"12", "20"})};
  graph.outputs = {value("y", {"12", "20"})};
  graph.initializers = {graph::make_tensor("codes", graph::ElementType::uint8, {std::ssize(codes)}, codes)};
  std::vector<std::string> inputs{"codes"};
  for (const StoredField& field : kernels::store(codec, parameters)) {
    graph.initializers.push_back(
        graph::make_tensor(field.name, graph::find_element_type(field.type)->type, field.dims, field.bytes));
    inputs.push_back(field.name);
  }
  graph.nodes = {node("Decode", inputs, {"w"},
                      {attribute("format", formats::to_string(use)),
                       attribute("coded", std::vector<std::int64_t>{6, 40}),
                       attribute("dims", std::vector<std::int64_t>{12, 20})},
                      "ai.anybit"),
                 node("Add", {"x", "w"}, {"y"})};
  return ops::testing::model(std::move(graph));
}

std::vector<float> run(const runtime::Program& program, const std::shared_ptr<ops::Memory>& memory,
                       ThreadPool& pool) {
  runtime::Context context(program, memory, pool);
  std::vector<float> zeros(240);
  const ops::Datum x =
      ops::Array::over(graph::ElementType::float32, {12, 20}, reinterpret_cast<std::byte*>(zeros.data()));
  const auto outputs = context.run(std::span(&x, 1));
  EXPECT_TRUE(outputs.ok()) << outputs.error().text();
  const auto elements = (*outputs)[0].array.elements<float>();
  return {elements.begin(), elements.end()};
}

// The bytes of the generated program's TableDecode without its table; empty if there is none.
std::optional<std::size_t> check(const formats::Use& use) {
  ThreadPool pool(1);
  const auto memory = ops::Memory::make();
  auto codec = kernels::TensorCodec::make(use.format, {6, 40},
                                          {.parameters = use.parameters, .grouping = use.grouping});
  EXPECT_TRUE(codec.ok()) << codec.error().text();
  const graph::Model model = model_with(*codec, use, pool);
  const auto plain = runtime::build(model, memory, pool, {.fuse = false});
  EXPECT_TRUE(plain.ok()) << plain.error().text();
  const auto generated = runtime::build(model, memory, pool, {.purpose = runtime::Purpose::generate});
  EXPECT_TRUE(generated.ok()) << generated.error().text();
  const auto expected = run(**plain, memory, pool), found = run(**generated, memory, pool);
  EXPECT_EQ(std::memcmp(expected.data(), found.data(), 240 * sizeof(float)), 0);
  std::optional<std::size_t> bytes;
  for (const runtime::Step& step : (*generated)->steps) {
    EXPECT_NE(step.descriptor->name, "Decode");
    if (step.descriptor->name != "TableDecode") continue;
    bytes = 0;
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      if (i == 1 || step.inputs[i] < 0) continue;
      *bytes += (*generated)->slots[static_cast<std::size_t>(step.inputs[i])].value.array.byte_count();
    }
  }
  return bytes;
}

TEST(TableDecode, HasTheValuesOfEveryFormatBitForBit) {
  for (const formats::Descriptor* format : formats::table()) {
    SCOPED_TRACE(format->name);
    for (const std::int64_t axis : {0, 1}) {
      formats::Use use;
      use.format = format->name;
      if (format->granularity != Granularity::element && format->granularity != Granularity::tensor)
        use.grouping.axis = axis;
      // With so few weights, tables of 16 bits are larger than the weights.
      EXPECT_EQ(check(use).has_value(), use.format != "bfloat16" && use.format != "bfp_prime");
    }
  }
}

TEST(TableDecode, TakesAsManyBitsAsTheFormat) {
  const struct {
    const char* use;
    std::size_t bytes;
  } cases[] = {
      {"mx4 axis=1", 90 + 18 + 18},                // 6 values: 3 pairs
      {"mx9 axis=0", 240 + 40 + 40},               // 6 values, 3 pairs
      {"ternary packing=fives", 60 + 4},           // two bits each: bytes are not divided into base-3 digits
      {"mx6 axis=1 block_size=40", 150 + 4 + 18},  // all blocks share one exponent
      {"bfp16 axis=1", 240 + 30},
      {"block_minifloat axis=1", 240 + 18},
      {"block_minifloat width=16 exponent_width=8 axis=1 block_size=40", 0},  // the table is too large
      {"block_minifloat width=12 exponent_width=5 axis=1", 360 + 18},
      {"block_log with_zero=true axis=1", 240 + 18},
      {"block_log width=5 axis=0", 160 + 40},
      {"block_fp width=12 axis=1", 360 + 18},
      {"nvfp4 axis=1", 120 + 18},
      {"mxfp4_e2m1 axis=1", 120 + 12},
      {"binary_residual granularity=channel axis=0", 60 + 4},
      {"binary_residual levels=3 granularity=channel axis=0", 90 + 4},
      {"int12 granularity=channel axis=0", 360 + 24},
      {"int11 granularity=tensor", 330 + 4},
      {"uint5 symmetric=false granularity=channel axis=0", 150 + 24 + 6},
      {"uint13 symmetric=false granularity=tensor", 390 + 4 + 4},
      {"minifloat width=12 exponent_width=5", 360 + 4},
      {"fixed width=14 frac=9", 420 + 4},
  };
  for (const auto& [text, bytes] : cases) {
    SCOPED_TRACE(text);
    const auto use = formats::read_use(text);
    ASSERT_TRUE(use.ok()) << use.error().text();
    EXPECT_EQ(check(*use).value_or(0), bytes);
  }
}

}  // namespace
}  // namespace anybit::codegen
