// The views of a model for code generators.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "codegen/view.hpp"
#include "unit/ops/graphs.hpp"

namespace anybit::codegen {
namespace {

using graph::make_tensor;
using ops::testing::attribute;
using ops::testing::floats;
using ops::testing::int64s;
using ops::testing::node;
using ops::testing::value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> ops_of(const anybit_graph& graph) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < graph.node_count; ++i) names.emplace_back(graph.nodes[i].op);
  return names;
}

std::vector<std::int64_t> dims_of(const anybit_value& value) { return {value.dims, value.dims + value.rank}; }

// x [batch, 4, 6] reshaped to a shape that is computed from its own.
graph::Model reshaping() {
  graph::Graph graph;
  graph.inputs = {value("x", {"batch", "4", "6"})};
  graph.outputs = {value("y", {"", ""})};
  graph.initializers = {int64s("first", {0}), int64s("rest", {-1})};
  graph.nodes = {node("Shape", {"x"}, {"shape"}), node("Gather", {"shape", "first"}, {"batch_size"}),
                 node("Concat", {"batch_size", "rest"}, {"target"}, {attribute("axis", std::int64_t{0})}),
                 node("Reshape", {"x", "target"}, {"y"})};
  return ops::testing::model(std::move(graph));
}

TEST(FusedView, HasStaticShapesAndNoShapeArithmetic) {
  const graph::Model model = reshaping();
  const auto made = fused_view({model, "dir/net.onnx", "abc"}, {{"x", {2, 4, 6}}});
  ASSERT_TRUE(made.ok()) << made.error().text();
  const anybit_view& view = (*made)->view();
  EXPECT_STREQ(view.path, "dir/net.onnx");
  EXPECT_STREQ(view.hash, "abc");
  EXPECT_THAT(ops_of(*view.graph), ElementsAre("Reshape"));
  const anybit_value& y = view.graph->values[view.graph->outputs[0]];
  EXPECT_STREQ(y.name, "y");
  EXPECT_STREQ(y.type, "float32");
  EXPECT_THAT(dims_of(y), ElementsAre(2, 24));
}

TEST(FusedView, NamesTheUnknownDimension) {
  const graph::Model model = reshaping();
  const auto made = fused_view({model, "", ""}, {});
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().text(), HasSubstr("input 'x': dimension 0 ('batch') is open"));
  EXPECT_THAT(made.error().hint, HasSubstr("x=1,4,6"));
}

TEST(FusedView, RejectsShapesThatDoNotFit) {
  const graph::Model model = reshaping();
  EXPECT_THAT(fused_view({model, "", ""}, {{"x", {2, 5, 6}}}).error().text(), HasSubstr("dimension 1"));
  EXPECT_THAT(fused_view({model, "", ""}, {{"x", {2, 4}}}).error().text(), HasSubstr("dimensions"));
  EXPECT_THAT(fused_view({model, "", ""}, {{"z", {2}}}).error().text(), HasSubstr("no input 'z'"));
}

TEST(FusedView, NamesTheNodeWhoseShapeDependsOnValues) {
  graph::Graph graph;
  graph.inputs = {value("x", {"8"})};
  graph.outputs = {value("y", {"", ""}, ops::ElementType::int64)};
  graph.nodes = {node("NonZero", {"x"}, {"y"})};
  graph.nodes[0].name = graph::Text("which");
  const graph::Model model = ops::testing::model(std::move(graph));
  const auto made = fused_view({model, "", ""}, {});
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().text(), HasSubstr("node 'which' (NonZero)"));
  EXPECT_THAT(made.error().text(), HasSubstr("depends on values"));
}

// Buffers in the generated code would have that size.
TEST(FusedView, DoesNotTrustADeclaredShapeThatDependsOnValues) {
  graph::Graph graph;
  graph.inputs = {value("x", {"8"})};
  graph.outputs = {value("y", {"1", "2"})};
  graph.value_info = {value("where", {"1", "2"}, ops::ElementType::int64)};
  graph.nodes = {node("NonZero", {"x"}, {"where"}),
                 node("Cast", {"where"}, {"y"}, {attribute("to", std::int64_t{1})})};
  const graph::Model model = ops::testing::model(std::move(graph));
  const auto made = fused_view({model, "", ""}, {});
  ASSERT_FALSE(made.ok());
  EXPECT_THAT(made.error().text(), HasSubstr("the shape of 'where' depends on values"));
}

// DequantizeLinear → Conv → QuantizeLinear.
graph::Model quantized() {
  graph::Graph graph;
  graph.inputs = {value("x", {"1", "1", "4", "4"}, ops::ElementType::uint8)};
  graph.outputs = {value("y", {"1", "2", "4", "4"}, ops::ElementType::uint8)};
  graph.initializers = {
      graph::make_tensor<float>("x_scale", ops::ElementType::float32, {}, {0.5F}),
      graph::make_tensor<std::uint8_t>("x_zero", ops::ElementType::uint8, {}, {128}),
      graph::make_tensor<std::int8_t>("w", ops::ElementType::int8, {2, 1, 1, 1}, {3, -4}),
      graph::make_tensor<float>("w_scale", ops::ElementType::float32, {2}, {0.25F, 0.125F}),
      graph::make_tensor<std::int8_t>("w_zero", ops::ElementType::int8, {2}, {0, 0}),
      graph::make_tensor<float>("y_scale", ops::ElementType::float32, {}, {2.0F}),
      graph::make_tensor<std::uint8_t>("y_zero", ops::ElementType::uint8, {}, {7}),
  };
  graph.nodes = {
      node("DequantizeLinear", {"x", "x_scale", "x_zero"}, {"xr"}),
      node("DequantizeLinear", {"w", "w_scale", "w_zero"}, {"wr"}, {attribute("axis", std::int64_t{0})}),
      node("Conv", {"xr", "wr"}, {"yr"}), node("QuantizeLinear", {"yr", "y_scale", "y_zero"}, {"y"})};
  return ops::testing::model(std::move(graph));
}

TEST(FusedView, HasIntegerOperatorsAndTheParametersOfQuantizedValues) {
  const graph::Model model = quantized();
  const auto made = fused_view({model, "", ""}, {});
  ASSERT_TRUE(made.ok()) << made.error().text();
  const anybit_graph& graph = *(*made)->view().graph;
  ASSERT_THAT(ops_of(graph), ElementsAre("QLinearConv"));
  const anybit_value& x = graph.values[graph.inputs[0]];
  ASSERT_EQ(x.scale_count, 1U);
  EXPECT_EQ(x.scales[0], 0.5F);
  EXPECT_EQ(x.zero_points[0], 128);
  const anybit_value& y = graph.values[graph.outputs[0]];
  ASSERT_EQ(y.scale_count, 1U);
  EXPECT_EQ(y.scales[0], 2.0F);
  EXPECT_EQ(y.zero_points[0], 7);
  const anybit_value& w = graph.values[graph.nodes[0].inputs[3]];
  ASSERT_EQ(w.scale_count, 2U);
  EXPECT_EQ(w.axis, 0);
  EXPECT_EQ(w.scales[1], 0.125F);
  EXPECT_EQ(w.zero_points, nullptr);
  ASSERT_EQ(w.bytes, 2U);
  EXPECT_EQ(static_cast<const std::int8_t*>(w.data)[1], -4);
}

TEST(FusedView, LeavesWeightsAsTheyAreStored) {
  graph::Graph graph;
  graph.inputs = {value("x", {"1", "4"})};
  graph.outputs = {value("y", {"1", "2"})};
  graph.initializers = {
      graph::make_tensor<std::uint8_t>("w", ops::ElementType::int4, {4, 2}, {0x21, 0x43, 0x65, 0x87}),
      graph::make_tensor<float>("s", ops::ElementType::float32, {}, {0.5F})};
  graph.nodes = {node("DequantizeLinear", {"w", "s"}, {"wr"}), node("MatMul", {"x", "wr"}, {"y"})};
  const graph::Model model = ops::testing::model(std::move(graph));
  const auto made = fused_view({model, "", ""}, {});
  ASSERT_TRUE(made.ok()) << made.error().text();
  const anybit_graph& seen = *(*made)->view().graph;
  ASSERT_THAT(ops_of(seen), ElementsAre("DequantizeLinear", "MatMul"));
  const anybit_value& w = seen.values[seen.nodes[0].inputs[0]];
  EXPECT_STREQ(w.type, "int4");
  ASSERT_EQ(w.bytes, 4U);
  EXPECT_EQ(static_cast<const std::uint8_t*>(w.data)[3], 0x87);
}

graph::Graph branch(std::string op) {
  graph::Graph graph;
  graph.outputs = {value(op + "_out", {"4"})};
  graph.nodes = {node(op, {"a", "w"}, {op + "_out"})};
  return graph;
}

TEST(FusedView, HasInnerGraphsWithTheirCapturesAndSharedConstants) {
  graph::Graph graph;
  graph.inputs = {value("x", {"4"}), value("which", {}, ops::ElementType::boolean)};
  graph.outputs = {value("y", {"4"})};
  graph.initializers = {floats("w", {4})};
  graph.nodes = {node("Neg", {"x"}, {"a"}), node("If", {"which"}, {"y"},
                                                 {attribute("then_branch", graph::GraphBox(branch("Add"))),
                                                  attribute("else_branch", graph::GraphBox(branch("Mul")))})};
  const graph::Model model = ops::testing::model(std::move(graph));
  const auto made = fused_view({model, "", ""}, {});
  ASSERT_TRUE(made.ok()) << made.error().text();
  const anybit_graph& outer = *(*made)->view().graph;
  ASSERT_THAT(ops_of(outer), ElementsAre("Neg", "If"));
  const anybit_node& choice = outer.nodes[1];
  ASSERT_EQ(choice.attribute_count, 2U);
  const void* data[2] = {};
  for (std::size_t i = 0; i < 2; ++i) {
    ASSERT_EQ(choice.attributes[i].kind, ANYBIT_ATTRIBUTE_GRAPH);
    const anybit_graph& inner = *choice.attributes[i].graph;
    ASSERT_EQ(inner.capture_count, 1U);
    EXPECT_EQ(inner.capture_outer[0], outer.nodes[0].outputs[0]);
    EXPECT_EQ(inner.nodes[0].inputs[0], inner.capture_inner[0]);
    EXPECT_THAT(dims_of(inner.values[inner.outputs[0]]), ElementsAre(4));
    data[i] = inner.values[inner.nodes[0].inputs[1]].data;
    EXPECT_NE(data[i], nullptr);
  }
  EXPECT_EQ(data[0], data[1]);
}

TEST(FusedView, InlinesABranchOnShapes) {
  graph::Graph graph;
  graph.inputs = {value("a", {"n"})};
  graph.outputs = {value("y", {"n"})};
  graph.initializers = {floats("w", {4}), int64s("four", {4})};
  graph.nodes = {node("Shape", {"a"}, {"shape"}), node("Equal", {"shape", "four"}, {"is_four"}),
                 node("If", {"is_four"}, {"y"},
                      {attribute("then_branch", graph::GraphBox(branch("Add"))),
                       attribute("else_branch", graph::GraphBox(branch("Mul")))})};
  const graph::Model model = ops::testing::model(std::move(graph));
  const auto made = fused_view({model, "", ""}, {{"a", {4}}});
  ASSERT_TRUE(made.ok()) << made.error().text();
  EXPECT_THAT(ops_of(*(*made)->view().graph), ElementsAre("Add"));
}

TEST(FusedView, KeepsOutputsThatAreInputsOrConstants) {
  graph::Graph graph;
  graph.inputs = {value("x", {"4"})};
  graph.outputs = {value("x", {"4"}), value("w", {"4"}), value("none", {"0"})};
  graph.initializers = {floats("w", {4}), floats("none", {0})};
  const graph::Model model = ops::testing::model(std::move(graph));
  const auto made = fused_view({model, "", ""}, {});
  ASSERT_TRUE(made.ok()) << made.error().text();
  const anybit_graph& seen = *(*made)->view().graph;
  ASSERT_EQ(seen.output_count, 3U);
  EXPECT_EQ(seen.outputs[0], seen.inputs[0]);
  EXPECT_NE(seen.values[seen.outputs[1]].data, nullptr);
  EXPECT_NE(seen.values[seen.outputs[2]].data, nullptr);
  EXPECT_EQ(seen.values[seen.outputs[2]].bytes, 0U);
}

TEST(WrittenView, HasTheNodesOfTheFile) {
  const graph::Model model = reshaping();
  const auto made = written_view({model, "", ""}, {});
  ASSERT_TRUE(made.ok()) << made.error().text();
  const anybit_graph& seen = *(*made)->view().graph;
  EXPECT_THAT(ops_of(seen), ElementsAre("Shape", "Gather", "Concat", "Reshape"));
  EXPECT_THAT(dims_of(seen.values[seen.inputs[0]]), ElementsAre(-1, 4, 6));
  EXPECT_EQ(seen.nodes[1].inputs[1], 1);
  EXPECT_EQ(seen.values[1].bytes, 8U);
}

// The other dimensions of an empty value count, too.
TEST(FusedView, AValueWithTooManyElementsIsRejected) {
  constexpr std::int64_t kMuch = std::int64_t{1} << 30;
  for (const char* first : {"1", "0"}) {
    graph::Graph graph;
    graph.inputs = {ops::testing::value("x", {first, "1", "1", "1"})};
    graph.outputs = {ops::testing::value("y", {"", "", "", ""})};
    graph.initializers = {ops::testing::int64s("pads", {0, 0, 0, 0, 0, kMuch, kMuch, kMuch})};
    graph.nodes = {ops::testing::node("Pad", {"x", "pads"}, {"y"})};
    const graph::Model model = ops::testing::model(graph);
    const auto view = fused_view({model, "", ""}, {});
    ASSERT_FALSE(view.ok());
    EXPECT_EQ(view.error().code, Code::limit_exceeded) << view.error().text();
  }
}

}  // namespace
}  // namespace anybit::codegen
