#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "graph/constant.hpp"
#include "refine/table.hpp"
#include "runtime/executor.hpp"
#include "unit/ops/graphs.hpp"

namespace anybit::quantizing {
namespace {

using ops::Array;
using ops::Datum;
using ops::testing::node;
using ops::testing::value;

constexpr std::int64_t kChannels = 6, kSide = 5;

// Weights whose channels have very different ranges along `axis`.
graph::Tensor uneven(const std::string& name, std::vector<std::int64_t> dims, std::size_t axis,
                     unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> draw;
  std::int64_t inner = 1, count = 1;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    count *= dims[d];
    if (d > axis) inner *= dims[d];
  }
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i)
    values[static_cast<std::size_t>(i)] =
        draw(random) * std::exp2(static_cast<float>(i / inner % dims[axis]) - 3);
  return graph::make_tensor(name, std::move(dims), std::move(values));
}

// Conv → activation → depthwise Conv → activation → Conv.
graph::Model chain(const std::string& activation) {
  graph::Graph graph;
  graph.inputs = {value("x", {"1", "2", "5", "5"})};
  graph.outputs = {value("y", {""})};
  graph.initializers = {uneven("w1", {kChannels, 2, 3, 3}, 0, 1),
                        uneven("b1", {kChannels}, 0, 2),
                        uneven("w2", {kChannels, 1, 3, 3}, 0, 3),
                        uneven("w3", {4, kChannels, 1, 1}, 1, 4),
                        uneven("slope", {kChannels, 1, 1}, 0, 5),
                        graph::make_tensor("low", {}, std::vector<float>{0}),
                        graph::make_tensor("high", {}, std::vector<float>{6})};
  const auto act = [&](const char* from, const char* to) {
    if (activation == "Clip") return node("Clip", {from, "low", "high"}, {to});
    if (activation == "PRelu") return node("PRelu", {from, "slope"}, {to});
    return node(activation, {from}, {to});
  };
  graph.nodes = {node("Conv", {"x", "w1", "b1"}, {"c1"}), act("c1", "a1"),
                 node("Conv", {"a1", "w2"}, {"c2"}, {ops::testing::attribute("group", kChannels)}),
                 act("c2", "a2"), node("Conv", {"a2", "w3"}, {"y"})};
  return ops::testing::model(std::move(graph), 17);
}

std::int64_t equalized(graph::Model& model, std::vector<int> layers) {
  const Descriptor* row = find_refinement("equalize");
  const formats::Values none;
  Refining work{model, layers, {}, none, {}, {}};
  return row->refine(work).value();
}

std::vector<float> outputs(const graph::Model& model) {
  const auto memory = ops::Memory::make();
  Array x = Array::make(*memory, ops::ElementType::float32, {1, 2, kSide, kSide}).value();
  std::mt19937 random(9);
  std::normal_distribution<float> draw;
  for (float& one : x.elements<float>()) one = draw(random);
  const auto executor = runtime::Executor::make(std::make_shared<const graph::Model>(model), {}).value();
  const auto found = executor->run({{"x", Datum(x)}}).value();
  const auto y = found[0].array.elements<float>();
  return {y.begin(), y.end()};
}

// The ranges of the channels of an initializer: `inner` values lie behind each of them.
std::vector<float> ranges_of(const graph::Model& model, std::size_t weights, std::size_t inner) {
  const auto values = *graph::floats(&model.graph->initializers[weights]);
  std::vector<float> ranges(static_cast<std::size_t>(kChannels));
  for (std::size_t i = 0; i < values.size(); ++i) {
    float& range = ranges[i / inner % ranges.size()];
    range = std::max(range, std::abs(values[i]));
  }
  return ranges;
}

TEST(Equalize, KeepsOutputsAndEvensTheRangesOfChannels) {
  for (const std::string activation : {"Relu", "LeakyRelu", "Identity", "PRelu"}) {
    SCOPED_TRACE(activation);
    graph::Model model = chain(activation);
    const std::vector<float> before = outputs(model);
    EXPECT_EQ(equalized(model, {0, 2, 4}), 3);
    // Outputs of the first, channels of the depthwise, and inputs of the last layer.
    const auto first = ranges_of(model, 0, 18), middle = ranges_of(model, 2, 9),
               last = ranges_of(model, 3, 1);
    for (std::size_t i = 0; i < first.size(); ++i) {
      EXPECT_NEAR(middle[i], first[i], 0.01F * first[i]);
      EXPECT_NEAR(last[i], first[i], 0.01F * first[i]);
    }
    const std::vector<float> after = outputs(model);
    for (std::size_t i = 0; i < before.size(); ++i)
      EXPECT_NEAR(after[i], before[i], 1e-4F * std::abs(before[i]) + 1e-4F);
  }
}

TEST(Equalize, StopsAtFunctionsThatScalingChanges) {
  for (const char* activation : {"Clip", "Sigmoid"}) {
    graph::Model model = chain(activation);
    EXPECT_EQ(equalized(model, {0, 2, 4}), 0) << activation;
  }
}

TEST(Equalize, LeavesLayersThatDidNotAskForItAndSharedWeights) {
  graph::Model model = chain("Relu");
  EXPECT_EQ(equalized(model, {0, 4}), 0);
  EXPECT_EQ(equalized(model, {0, 2}), 2);
  graph::Model shared = chain("Relu");
  shared.graph->nodes[0].inputs[1] = "w1";
  shared.graph->nodes.push_back(node("Identity", {"w1"}, {"unused"}));
  EXPECT_EQ(equalized(shared, {0, 2}), 0);
}

TEST(Equalize, LeavesChannelsOfZeros) {
  graph::Model model = chain("Relu");
  auto weights = *graph::floats(&model.graph->initializers[0]);
  std::fill_n(weights.begin(), 18, 0.0F);
  model.graph->initializers[0] = graph::make_tensor("w1", {kChannels, 2, 3, 3}, weights);
  const std::vector<float> before = outputs(model);
  EXPECT_EQ(equalized(model, {0, 2, 4}), 3);
  const std::vector<float> after = outputs(model);
  for (std::size_t i = 0; i < before.size(); ++i)
    EXPECT_NEAR(after[i], before[i], 1e-4F * std::abs(before[i]) + 1e-4F);
}

}  // namespace
}  // namespace anybit::quantizing
