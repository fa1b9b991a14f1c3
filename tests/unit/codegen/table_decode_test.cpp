// Packed weights of every format, as a program built for generating has them.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/thread_pool.hpp"
#include "formats/use.hpp"
#include "kernels/stored_fields.hpp"
#include "runtime/build.hpp"
#include "runtime/context.hpp"
#include "unit/ops/graphs.hpp"

namespace anybit::codegen {
namespace {

using ops::testing::attribute;
using ops::testing::node;
using ops::testing::stored;
using ops::testing::value;

constexpr unsigned kSeed = 7;

// y = x + Decode(packed random numbers [6, 40]), coded under other dimensions.
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
  graph.initializers = {stored("codes", graph::ElementType::uint8, {std::ssize(codes)}, codes)};
  std::vector<std::string> inputs{"codes"};
  for (const StoredField& field : kernels::store(codec, parameters)) {
    graph.initializers.push_back(
        stored(field.name, graph::find_element_type(field.type)->type, field.dims, field.bytes));
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

TEST(TableDecode, HasTheValuesOfEveryFormatBitForBit) {
  ThreadPool pool(1);
  const auto memory = ops::Memory::make();
  int tables = 0;
  for (const formats::Descriptor* format : formats::table()) {
    SCOPED_TRACE(format->name);
    for (const std::int64_t axis : {0, 1}) {
      formats::Use use;
      use.format = format->name;
      if (format->granularity != Granularity::element && format->granularity != Granularity::tensor)
        use.grouping.axis = axis;
      auto codec =
          kernels::TensorCodec::make(use.format, {6, 40}, {.parameters = {}, .grouping = use.grouping});
      ASSERT_TRUE(codec.ok()) << codec.error().text();
      const graph::Model model = model_with(*codec, use, pool);
      const auto plain = runtime::build(model, memory, pool, {.fuse = false});
      ASSERT_TRUE(plain.ok()) << plain.error().text();
      const auto generated = runtime::build(model, memory, pool, {.purpose = runtime::Purpose::generate});
      ASSERT_TRUE(generated.ok()) << generated.error().text();
      const auto expected = run(**plain, memory, pool), found = run(**generated, memory, pool);
      EXPECT_EQ(std::memcmp(expected.data(), found.data(), 240 * sizeof(float)), 0);
      for (const runtime::Step& step : (*generated)->steps) {
        EXPECT_NE(step.descriptor->name, "Decode");
        tables += step.descriptor->name == "TableDecode";
      }
    }
  }
  EXPECT_GT(tables, 20);
}

}  // namespace
}  // namespace anybit::codegen
