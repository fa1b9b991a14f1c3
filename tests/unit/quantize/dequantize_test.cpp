#include "quantize/dequantize.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/constant.hpp"
#include "graph/index.hpp"
#include "graph/node.hpp"
#include "unit/graph/sample_models.hpp"

namespace anybit::quantizing {
namespace {

using graph::ElementType;
using graph::Graph;
using graph::make_tensor;
using graph::testing::node;
using graph::testing::value;
using ::testing::ElementsAre;

std::int64_t taken_back(Graph& graph) {
  const auto gone = dequantize(graph);
  EXPECT_TRUE(gone.ok()) << (gone.ok() ? "" : gone.error().text());
  return gone.ok() ? *gone : -1;
}

// w [2, 2], the output of a DequantizeLinear.
Graph weight(std::vector<std::int64_t> dims, std::vector<float> scales) {
  Graph graph;
  graph.initializers = {make_tensor("w", ElementType::int8, {2, 2}, std::vector<std::int8_t>{1, -2, 3, 4}),
                        make_tensor("s", std::move(dims), std::move(scales))};
  graph.outputs = {value("y")};
  graph.nodes = {node("DequantizeLinear", {"w", "s"}, {"wr"}), node("MatMul", {"x", "wr"}, {"y"})};
  return graph;
}

TEST(Dequantize, ConstantsAreDequantizedPerAxisOrBlock) {
  Graph by_column = weight({2}, {1, 10});
  EXPECT_EQ(taken_back(by_column), 1);
  ASSERT_EQ(by_column.nodes.size(), 1U);
  EXPECT_THAT(*graph::floats(&by_column.initializers.back()), ElementsAre(1, -20, 3, 40));
  Graph by_row = weight({2}, {1, 10});
  graph::set_attribute(by_row.nodes[0], "axis", std::int64_t{-2});
  EXPECT_EQ(taken_back(by_row), 1);
  EXPECT_THAT(*graph::floats(&by_row.initializers.back()), ElementsAre(1, -2, 30, 40));
  Graph by_block = weight({1, 2}, {1, 10});
  graph::set_attribute(by_block.nodes[0], "axis", std::int64_t{0});
  graph::set_attribute(by_block.nodes[0], "block_size", std::int64_t{2});
  EXPECT_EQ(taken_back(by_block), 1);
  EXPECT_THAT(*graph::floats(&by_block.initializers.back()), ElementsAre(1, -20, 3, 40));
}

TEST(Dequantize, InvalidScalesAreKept) {
  Graph too_many = weight({3}, {1, 2, 3});
  EXPECT_EQ(taken_back(too_many), 0);
  Graph negative = weight({2}, {1, 2});
  graph::set_attribute(negative.nodes[0], "block_size", std::int64_t{-1});
  EXPECT_EQ(taken_back(negative), 0);
}

TEST(Dequantize, ASubgraphSeesConstantsOfTheOuterGraph) {
  Graph inner = weight({}, {0.5F});
  Graph graph;
  graph.initializers = std::move(inner.initializers);
  inner.initializers.clear();
  graph.inputs = {value("condition"), value("x")};
  graph.nodes = {node("If", {"condition"}, {"y"})};
  graph.nodes[0].attributes = {graph::testing::graph_attribute("then_branch", inner)};
  EXPECT_EQ(taken_back(graph), 1);
  graph::each_graph(graph.nodes[0], [](const Graph& branch) {
    ASSERT_EQ(branch.initializers.size(), 1U);
    EXPECT_THAT(*graph::floats(&branch.initializers[0]), ElementsAre(0.5F, -1, 1.5F, 2));
  });
}

// The QuantizeLinear is removed as an unused node, by another pass.
TEST(Dequantize, APairIsRemoved) {
  Graph graph;
  graph.initializers = {make_tensor("s", {}, std::vector<float>{0.5F}),
                        make_tensor("z", ElementType::int8, {}, std::vector<std::int8_t>{3})};
  graph.inputs = {value("x")};
  graph.outputs = {value("y")};
  graph.nodes = {node("QuantizeLinear", {"x", "s", "z"}, {"q"}),
                 node("DequantizeLinear", {"q", "s", "z"}, {"r"}), node("Neg", {"r"}, {"y"})};
  EXPECT_EQ(taken_back(graph), 1);
  ASSERT_EQ(graph.nodes.size(), 2U);
  EXPECT_THAT(graph.nodes[1].inputs, ElementsAre("x"));
}

}  // namespace
}  // namespace anybit::quantizing
