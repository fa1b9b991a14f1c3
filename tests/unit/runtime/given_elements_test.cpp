// Unexpected elements in inputs and files: booleans other than 0 and 1, sub-byte integers with high bits set.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/executor.hpp"
#include "unit/ops/graphs.hpp"

namespace anybit::runtime {
namespace {

using ops::Array;
using ops::Datum;
using ops::ElementType;
using ops::testing::node;
using ops::testing::value;
using ::testing::ElementsAre;

const std::shared_ptr<ops::Memory> memory = ops::Memory::make();

Array bytes(ElementType type, std::initializer_list<std::uint8_t> elements) {
  Array array = Array::make(*memory, type, {static_cast<std::int64_t>(elements.size())}).value();
  std::ranges::copy(elements, array.elements<std::uint8_t>().begin());
  return array;
}

graph::Graph graph_of(graph::Node one, ElementType in, const std::string& count) {
  graph::Graph graph;
  graph.inputs = {value("x", {count}, in)};
  graph.nodes = {std::move(one)};
  graph.outputs = {value("y", {}, ElementType::undefined)};
  graph.outputs[0].type.reset();
  return graph;
}

Result<std::vector<Datum>> run(graph::Graph graph, Datum x) {
  auto made = Executor::make(std::make_shared<graph::Model>(ops::testing::model(std::move(graph), 21)));
  if (!made.ok()) return std::move(made).error();
  return (*made)->run({{"x", std::move(x)}});
}

std::vector<std::uint8_t> output(const Result<std::vector<Datum>>& outputs) {
  EXPECT_TRUE(outputs.ok()) << outputs.error().text();
  if (!outputs.ok()) return {};
  const auto elements = (*outputs)[0].array.elements<std::uint8_t>();
  return {elements.begin(), elements.end()};
}

TEST(GivenElements, AnyByteButZeroIsTrue) {
  const auto all = [] { return bytes(ElementType::boolean, {0, 1, 2, 95, 254}); };
  EXPECT_THAT(output(run(graph_of(node("Not", {"x"}, {"y"}), ElementType::boolean, "5"), all())),
              ElementsAre(1, 0, 0, 0, 0));
  EXPECT_THAT(output(run(graph_of(node("Identity", {"x"}, {"y"}), ElementType::boolean, "5"), all())),
              ElementsAre(0, 1, 1, 1, 1));
}

TEST(GivenElements, AnyByteOfAConstantButZeroIsTrue) {
  graph::Graph graph = graph_of(node("And", {"x", "c"}, {"y"}), ElementType::boolean, "3");
  graph::Tensor& constant = graph.initializers.emplace_back();
  constant.name = graph::Text("c");
  constant.element = static_cast<std::int32_t>(ElementType::boolean);
  constant.dims = {3};
  constant.data = Bytes::own(std::string("\x02\x00\x40", 3));
  EXPECT_THAT(output(run(graph, bytes(ElementType::boolean, {1, 1, 1}))), ElementsAre(1, 0, 1));
}

TEST(GivenElements, OnlyTheLowBitsOfSubByteIntegersCount) {
  const auto taken = [](ElementType type) {
    return output(run(graph_of(node("Identity", {"x"}, {"y"}), type, "4"), bytes(type, {0, 7, 8, 0xF7})));
  };
  EXPECT_THAT(taken(ElementType::int4), ElementsAre(0, 7, 0xF8, 7));
  EXPECT_THAT(taken(ElementType::uint4), ElementsAre(0, 7, 8, 7));
  EXPECT_THAT(taken(ElementType::float4e2m1), ElementsAre(0, 7, 8, 7));
  EXPECT_THAT(taken(ElementType::int2), ElementsAre(0, 0xFF, 0, 0xFF));
}

}  // namespace
}  // namespace anybit::runtime
