#include "lower/qoperator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/constant.hpp"
#include "graph/index.hpp"
#include "graph/node.hpp"
#include "unit/graph/sample_models.hpp"

namespace anybit::lower {
namespace {

using graph::ElementType;
using graph::Graph;
using graph::make_tensor;
using graph::Node;
using graph::testing::node;
using graph::testing::value;
using ::testing::ElementsAre;

std::vector<std::string> operators(const Graph& graph) {
  std::vector<std::string> list;
  for (const Node& one : graph.nodes) list.push_back(one.op_type.str());
  return list;
}

std::vector<graph::Tensor> constants(ElementType type = ElementType::uint8, std::uint8_t zero = 0) {
  return {make_tensor("s", {}, std::vector<float>{0.5F}),
          make_tensor("z", type, {}, std::vector<std::uint8_t>{zero}),
          make_tensor("w", type, {2, 2}, std::vector<std::uint8_t>{1, 2, 3, 4})};
}

// xq → DQ → MatMul with a dequantized weight → Relu → Q → yq
Graph product() {
  Graph graph;
  graph.initializers = constants();
  graph.outputs = {value("yq")};
  graph.nodes = {node("DequantizeLinear", {"xq", "s", "z"}, {"x"}),
                 node("DequantizeLinear", {"w", "s", "z"}, {"wr"}), node("MatMul", {"x", "wr"}, {"p"}),
                 node("Relu", {"p"}, {"r"}), node("QuantizeLinear", {"r", "s", "z"}, {"yq"})};
  return graph;
}

TEST(ToQoperator, AQdqPatternAroundAMatMulBecomesOneNode) {
  Graph graph = product();
  EXPECT_EQ(to_qoperator(graph, 21), 1);
  ASSERT_THAT(operators(graph), ElementsAre("QLinearMatMul"));
  EXPECT_THAT(graph.nodes[0].inputs, ElementsAre("xq", "s", "z", "w", "s", "z", "s", "z"));
  EXPECT_THAT(graph.nodes[0].outputs, ElementsAre("yq"));
}

TEST(ToQoperator, AReluIsKeptIfTheLowestQuantizedValueIsNotZero) {
  Graph graph = product();
  graph.initializers = constants(ElementType::uint8, 3);
  EXPECT_EQ(to_qoperator(graph, 21), 0);
  EXPECT_EQ(graph.nodes.size(), 5U);
  graph.initializers = constants(ElementType::int8, 0x80);  // -128
  EXPECT_EQ(to_qoperator(graph, 21), 1);
}

TEST(ToQoperator, BlocksAndMissingZeroPointsAreNotFused) {
  Graph blocks = product(), without = product();
  graph::set_attribute(blocks.nodes[1], "block_size", std::int64_t{2});
  EXPECT_EQ(to_qoperator(blocks, 21), 0);
  without.nodes[0].inputs.pop_back();
  EXPECT_EQ(to_qoperator(without, 21), 0);
}

TEST(ToQoperator, ASubgraphUsesConstantsOfTheOuterGraph) {
  Graph inner = product();
  Graph graph;
  graph.initializers = std::move(inner.initializers);
  inner.initializers.clear();
  graph.inputs = {value("condition"), value("xq")};
  graph.nodes = {node("If", {"condition"}, {"y"})};
  graph.nodes[0].attributes = {graph::testing::graph_attribute("then_branch", inner)};
  EXPECT_EQ(to_qoperator(graph, 21), 1);
  graph::each_graph(graph.nodes[0], [](const Graph& branch) {
    EXPECT_THAT(operators(branch), ElementsAre("QLinearMatMul"));
  });
}

TEST(ToQoperator, APassThroughOperatorWorksOnIntegersOfEqualParameters) {
  Graph graph;
  graph.initializers = constants();
  graph.initializers.push_back(make_tensor("other", {}, std::vector<float>{0.25F}));
  graph.outputs = {value("yq"), value("vq")};
  graph.nodes = {node("DequantizeLinear", {"xq", "s", "z"}, {"x"}), node("Transpose", {"x"}, {"y"}),
                 node("QuantizeLinear", {"y", "s", "z"}, {"yq"}), node("Transpose", {"x"}, {"v"}),
                 node("QuantizeLinear", {"v", "other", "z"}, {"vq"})};
  EXPECT_EQ(to_qoperator(graph, 21), 1);
  EXPECT_THAT(operators(graph), ElementsAre("DequantizeLinear", "Transpose", "Transpose", "QuantizeLinear"));
  EXPECT_THAT(graph.nodes[1].inputs, ElementsAre("xq"));
}

}  // namespace
}  // namespace anybit::lower
