// Fusions do not change results: with quantization parameters that do not match, with NaN and infinities.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/executor.hpp"
#include "unit/ops/graphs.hpp"

namespace anybit::runtime {
namespace {

using graph::make_tensor;
using ops::Array;
using ops::Datum;
using ops::Dims;
using ops::ElementType;
using ops::testing::attribute;
using ops::testing::node;
using ops::testing::value;
using Inputs = std::map<std::string, Datum>;

const std::shared_ptr<ops::Memory> memory = ops::Memory::make();

Array rising(const Dims& dims, float step = 1, float from = 0) {
  Array array = Array::make(*memory, ElementType::float32, dims).value();
  for (float& one : array.elements<float>()) one = from += step;
  return array;
}

std::unique_ptr<Executor> executor_of(graph::Graph graph, bool fuse) {
  auto made = Executor::make(std::make_shared<graph::Model>(ops::testing::model(std::move(graph), 17)),
                             {.fuse = fuse});
  EXPECT_TRUE(made.ok()) << made.error().text();
  return std::move(made).value();
}

std::vector<float> output(const Executor& executor, const Inputs& inputs) {
  const auto outputs = executor.run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.error().text();
  if (!outputs.ok()) return {};
  const auto elements = (*outputs)[0].array.elements<float>();
  return {elements.begin(), elements.end()};
}

// A quantized MatMul with weights [8, 16], `scales` scales and `zeros` zero points, and a function after it
// whose fusion reads all of them.
graph::Graph quantized_matmul(std::int64_t scales, std::int64_t zeros) {
  graph::Graph graph;
  graph.inputs = {value("x", {"2", "8"})};
  graph.outputs = {value("y", {"", ""})};
  const auto count = [](std::int64_t n) { return static_cast<std::size_t>(n); };
  graph.initializers = {
      graph::make_tensor("s", ElementType::float32, {}, std::vector<float>{0.02F}),
      graph::make_tensor("z", ElementType::uint8, {}, std::vector<std::uint8_t>{128}),
      graph::make_tensor("w", ElementType::int8, {8, 16}, std::vector<std::int8_t>(128, 3)),
      graph::make_tensor("ws", ElementType::float32, {scales}, std::vector<float>(count(scales), 0.01F)),
      graph::make_tensor("wz", ElementType::int8, {zeros}, std::vector<std::int8_t>(count(zeros), 0))};
  graph.nodes = {node("QuantizeLinear", {"x", "s", "z"}, {"xq"}),
                 node("DequantizeLinear", {"xq", "s", "z"}, {"xd"}),
                 node("DequantizeLinear", {"w", "ws", "wz"}, {"wd"}, {attribute("axis", std::int64_t{1})}),
                 node("MatMul", {"xd", "wd"}, {"p"}),
                 node("Sigmoid", {"p"}, {"f"}),
                 node("QuantizeLinear", {"f", "s", "z"}, {"yq"}),
                 node("DequantizeLinear", {"yq", "s", "z"}, {"y"})};
  return graph;
}

TEST(QuantizedParameters, ThatDoNotFitTheWeightsAreNotFused) {
  const auto model = [](std::int64_t scales, std::int64_t zeros) {
    return std::make_shared<graph::Model>(ops::testing::model(quantized_matmul(scales, zeros), 17));
  };
  const Inputs inputs = {{"x", Datum(rising({2, 8}))}};
  for (const auto& [scales, zeros] : {std::pair(2, 2), std::pair(16, 2), std::pair(2, 16), std::pair(0, 0),
                                      std::pair(1, 16), std::pair(16, 1), std::pair(15, 15)}) {
    for (const bool fuse : {true, false}) {
      const auto made = Executor::make(model(scales, zeros), {.fuse = fuse});
      const bool runs = made.ok() && (*made)->run(inputs).ok();
      EXPECT_FALSE(runs) << scales << " scales, " << zeros << " zero points, fused: " << fuse;
    }
  }
  for (const std::int64_t fitting : {1, 16}) {
    const auto fused = executor_of(quantized_matmul(fitting, fitting), true);
    const auto plain = executor_of(quantized_matmul(fitting, fitting), false);
    EXPECT_EQ(output(*fused, inputs).size(), 32u);
    EXPECT_EQ(output(*fused, inputs), output(*plain, inputs));
  }
}

bool alike(float got, float wanted) {
  if (std::isnan(wanted)) return std::isnan(got);
  return got == wanted || std::abs(got - wanted) < 1e-4F;
}

// A convolution with 16 channels and `groups` groups, optionally with an Add of −s, and then the given nodes
// from c to y.
graph::Graph convolution(std::int64_t groups, bool sum, std::vector<graph::Node> behind) {
  graph::Graph graph;
  graph.inputs = {value("x", {"", "16", "", ""}), value("s", {"", "", "", ""})};
  graph.outputs = {value("y", {"", "", "", ""})};
  graph.initializers = {ops::testing::floats("w", {16, 16 / groups, 1, 1}),
                        graph::make_tensor("low", ElementType::float32, {}, std::vector<float>{0}),
                        graph::make_tensor("high", ElementType::float32, {}, std::vector<float>{6})};
  graph.nodes = {node("Conv", {"x", "w"}, {sum ? "v" : "c"}, {attribute("group", groups)})};
  if (sum) {
    graph.nodes.push_back(node("Neg", {"s"}, {"t"}));
    graph.nodes.push_back(node("Add", {"v", "t"}, {"c"}));
  }
  for (graph::Node& one : behind) graph.nodes.push_back(std::move(one));
  return graph;
}

class EveryActivation : public ::testing::TestWithParam<std::vector<graph::Node>> {};

TEST_P(EveryActivation, AfterAConvolutionKeepsNanAndInfinities) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), most = std::numeric_limits<float>::infinity();
  for (const auto& [groups, sum] :
       {std::pair(1, false), std::pair(1, true), std::pair(16, false), std::pair(16, true)}) {
    const graph::Graph graph = convolution(groups, sum, GetParam());
    const auto fused = executor_of(graph, true), plain = executor_of(graph, false);
    EXPECT_EQ(fused->program().steps.size(), sum ? 2u : 1u);
    for (const float in_x : {0.5F, nan, most, -most}) {
      for (const float in_s : {0.25F, nan, most, -most}) {
        Array x = rising({1, 16, 5, 5}, 0.001F, -0.3F), s = rising({1, 16, 5, 5});
        x.mutable_data<float>()[37] = in_x;
        s.mutable_data<float>()[37] = s.mutable_data<float>()[211] = in_s;
        const Inputs inputs = {{"x", Datum(x)}, {"s", Datum(s)}};
        const std::vector<float> wanted = output(*plain, inputs);
        for (int run = 0; run < 2; ++run) {  // the second overwrites the sum
          const std::vector<float> got = output(*fused, inputs);
          ASSERT_EQ(got.size(), wanted.size());
          for (std::size_t i = 0; i < got.size(); ++i)
            ASSERT_TRUE(alike(got[i], wanted[i])) << groups << " groups, x " << in_x << ", s " << in_s << ": "
                                                  << got[i] << " instead of " << wanted[i] << " at " << i;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Fusion, EveryActivation,
    ::testing::Values(std::vector{node("Relu", {"c"}, {"y"})},
                      std::vector{node("Clip", {"c", "low", "high"}, {"y"})},
                      std::vector{node("LeakyRelu", {"c"}, {"y"}, {attribute("alpha", 0.1F)})},
                      std::vector{node("Sigmoid", {"c"}, {"y"})}, std::vector{node("Tanh", {"c"}, {"y"})},
                      std::vector{node("HardSigmoid", {"c"}, {"y"})},
                      std::vector{node("HardSwish", {"c"}, {"y"})},
                      std::vector{node("Sigmoid", {"c"}, {"g"}), node("Mul", {"c", "g"}, {"y"})}),
    [](const auto& info) { return info.param.back().op_type.str(); });

}  // namespace
}  // namespace anybit::runtime
