#include "graph/quantization.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/constant.hpp"
#include "unit/graph/sample_models.hpp"

namespace anybit::graph {
namespace {

using testing::node;
using testing::value;

Tensor scale(const std::string& name, std::vector<std::int64_t> dims, std::vector<float> numbers) {
  return make_tensor(name, std::move(dims), std::move(numbers));
}
template <class T>
Tensor whole(const std::string& name, ElementType type, std::vector<std::int64_t> dims, std::vector<T> data) {
  return make_tensor(name, type, std::move(dims), std::move(data));
}

// x → Q → DQ → MatMul with a weight behind a DQ → Q → DQ → y
Graph quantized_matmul() {
  Graph graph;
  graph.inputs = {value("x", {1, 2})};
  graph.outputs = {value("y", {1, 3})};
  graph.initializers = {scale("xs", {}, {0.5F}), whole<std::uint8_t>("xz", ElementType::uint8, {}, {128}),
                        whole<std::int8_t>("w", ElementType::int8, {2, 3}, {1, 2, 3, 4, 5, 6}),
                        scale("ws", {3}, {1, 2, 3}), scale("ys", {}, {0.25F})};
  graph.nodes = {
      node("QuantizeLinear", {"x", "xs", "xz"}, {"xq"}), node("DequantizeLinear", {"xq", "xs", "xz"}, {"xr"}),
      node("DequantizeLinear", {"w", "ws"}, {"wr"}),     node("MatMul", {"xr", "wr"}, {"p"}),
      node("QuantizeLinear", {"p", "ys"}, {"pq"}),       node("DequantizeLinear", {"pq", "ys"}, {"y"})};
  return graph;
}

TEST(QdqParameters, OfANodeWithConstants) {
  const Graph graph = quantized_matmul();
  const QdqView view(graph);
  const auto read = view.parameters(graph.nodes[1]);
  EXPECT_TRUE(read.known());
  EXPECT_TRUE(read.per_tensor());
  EXPECT_EQ(read.type, ElementType::uint8);
  EXPECT_EQ(number(read.scale), 0.5F);
  EXPECT_EQ(integer_at(*read.zero_point, 0), 128);
  EXPECT_EQ(read.axis, 1);
  EXPECT_EQ(read.block_size, 0);
}

TEST(QdqParameters, WithoutAZeroPointTheTypeIsTheConstantsOrQuantizeLinearsDefault) {
  Graph graph = quantized_matmul();
  set_attribute(graph.nodes[4], "output_dtype", std::int64_t{static_cast<int>(ElementType::int16)});
  const QdqView view(graph);
  EXPECT_EQ(view.parameters(graph.nodes[2]).type, ElementType::int8);
  EXPECT_EQ(view.parameters(graph.nodes[4]).type, ElementType::int16);
  EXPECT_EQ(view.parameters(graph.nodes[5]).type, ElementType::undefined);
  EXPECT_TRUE(view.parameters(graph.nodes[5]).known());
  remove_attribute(graph.nodes[4], "output_dtype");
  EXPECT_EQ(view.parameters(graph.nodes[4]).type, ElementType::uint8);
}

TEST(QdqParameters, AreKnownOnlyIfConstantWithTheRightTypesAndCounts) {
  Graph graph = quantized_matmul();
  graph.inputs.push_back(value("ys"));  // the caller may pass another value
  graph.initializers[1].dims = {2};
  graph.initializers[3] = whole<double>("ws", ElementType::float64, {1}, {1});
  const QdqView view(graph);
  EXPECT_FALSE(view.parameters(graph.nodes[4]).known());
  EXPECT_FALSE(view.parameters(graph.nodes[0]).known());
  EXPECT_FALSE(view.parameters(graph.nodes[2]).known());
}

TEST(QdqParameters, FitATensorByAxisAndBlocks) {
  const Tensor three = scale("s", {3}, {1, 2, 3}), six = scale("s", {2, 3}, {1, 2, 3, 4, 5, 6});
  QdqParameters<Tensor> read{.scale = &three};
  const std::vector<std::int64_t> dims{2, 3};
  EXPECT_TRUE(read.fits(dims));
  read.axis = -1;
  EXPECT_TRUE(read.fits(dims));
  for (const std::int64_t axis : {0, -2, 2, -3}) {
    read.axis = axis;
    EXPECT_FALSE(read.fits(dims)) << axis;
  }
  read = {.scale = &six, .axis = 0, .block_size = 4};
  EXPECT_TRUE(read.fits(std::vector<std::int64_t>{8, 3}));
  EXPECT_TRUE(read.fits(std::vector<std::int64_t>{5, 3}));
  EXPECT_FALSE(read.fits(std::vector<std::int64_t>{9, 3}));
  EXPECT_FALSE(read.fits(std::vector<std::int64_t>{0, 3}));
  read.block_size = -4;
  EXPECT_FALSE(read.fits(std::vector<std::int64_t>{8, 3}));
}

TEST(QdqView, FindsPairsStoredConstantsAndTheOnlyQuantizer) {
  const Graph graph = quantized_matmul();
  const QdqView view(graph);
  EXPECT_EQ(view.dequantizer("xr"), &graph.nodes[1]);
  EXPECT_EQ(view.quantizer(view.dequantizer("xr")->inputs[0]), &graph.nodes[0]);
  EXPECT_EQ(view.dequantizer("wr"), &graph.nodes[2]);
  EXPECT_EQ(view.quantizer("w"), nullptr);
  EXPECT_EQ(view.stored("wr"), &graph.initializers[2]);
  EXPECT_EQ(view.stored("xr"), nullptr);
  EXPECT_EQ(view.dequantizer("p"), nullptr);
  EXPECT_EQ(view.only_quantizer("p"), 4);
  EXPECT_EQ(view.only_quantizer("xr"), -1);
}

TEST(QdqView, AQuantizerOfAnotherValueIsNotThatOfAScale) {
  Graph graph = quantized_matmul();
  graph.nodes[4].inputs = {"x", "p"};
  EXPECT_EQ(QdqView(graph).only_quantizer("p"), -1);
}

TEST(QdqView, KnowsTheOperatorsOfONNXRuntimeAndNoOthers) {
  Graph graph = quantized_matmul();
  graph.nodes[1].domain = Text(kMicrosoft);
  graph.nodes[2].domain = Text("elsewhere");
  const QdqView view(graph);
  EXPECT_EQ(view.dequantizer("xr"), &graph.nodes[1]);
  EXPECT_EQ(view.dequantizer("wr"), nullptr);
}

TEST(QdqView, AnInnerGraphSeesOuterConstantsUnlessItShadowsThem) {
  const Graph outer = quantized_matmul();
  const QdqView around(outer);
  Graph inner;
  inner.inputs = {value("xs")};
  inner.nodes = {node("DequantizeLinear", {"w", "ws"}, {"iw"}), node("QuantizeLinear", {"iw", "xs"}, {"q"})};
  const QdqView view(inner, &around);
  EXPECT_EQ(view.stored("iw"), &outer.initializers[2]);
  EXPECT_TRUE(view.parameters(inner.nodes[0]).known());
  EXPECT_FALSE(view.parameters(inner.nodes[1]).known());
  EXPECT_EQ(view.constant(""), nullptr);
}

TEST(IntegerAt, ReadsEveryTypeThatValuesAreQuantizedTo) {
  for (const ElementTypeInfo& info : element_types()) {
    const IntegerRange range = integer_range(info.type);
    if (range.bits == 0) continue;
    EXPECT_EQ(range.bits, info.bits);
    for (const std::int64_t number : {std::int64_t{range.low}, std::int64_t{range.high}}) {
      // Element 1, after an element of zero.
      const std::uint64_t kept = static_cast<std::uint64_t>(number) & ((std::uint64_t{1} << range.bits) - 1);
      const Tensor tensor =
          whole<std::uint64_t>("t", info.type, {2}, {static_cast<std::uint64_t>(kept) << range.bits});
      EXPECT_EQ(integer_at(tensor, 0), 0) << info.name;
      EXPECT_EQ(integer_at(tensor, 1), number) << info.name;
    }
  }
  EXPECT_EQ(integer_at(scale("s", {}, {1}), 0), std::nullopt);
}

}  // namespace
}  // namespace anybit::graph
