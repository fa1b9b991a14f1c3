#include "refine/bias_correction.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "refine/shift_bias.hpp"
#include "unit/ops/graphs.hpp"

namespace anybit::quantizing {
namespace {

using graph::make_tensor;
using ops::Array;
using ops::Datum;
using ops::testing::node;
using ops::testing::value;
using ::testing::ElementsAre;

const std::shared_ptr<ops::Memory> memory = ops::Memory::make();
constexpr std::int64_t kSide = 6, kChannels = 10;

std::vector<float> numbers(std::size_t count, unsigned seed, float spread = 1) {
  std::minstd_rand random(seed + 1);
  std::uniform_real_distribution<float> one(-spread, spread);
  std::vector<float> all(count);
  std::ranges::generate(all, [&] { return one(random); });
  return all;
}

graph::Tensor tensor(const std::string& name, std::vector<std::int64_t> dims, const std::vector<float>& of) {
  return graph::make_tensor(name, graph::ElementType::float32, std::move(dims), of);
}

// Two convolutions, the second without a bias, and two MatMul, one with an Add behind it. `shift` is added to
// the weights, which shifts the outputs.
graph::Model network(float shift = 0) {
  std::vector<float> first = numbers(kChannels * 9, 1), second = numbers(kChannels * kChannels, 2);
  for (float& one : first) one += shift;
  for (float& one : second) one += shift;
  graph::Graph graph;
  graph.inputs = {value("x", {"1", "1", "6", "6"})};
  graph.outputs = {value("y", {""}), value("z", {""})};
  graph.initializers = {tensor("w1", {kChannels, 1, 3, 3}, first),
                        tensor("b1", {kChannels}, numbers(kChannels, 3)),
                        tensor("w2", {kChannels, kChannels, 1, 1}, second),
                        tensor("w3", {4, 5}, numbers(20, 4)), tensor("b3", {5}, numbers(5, 5))};
  graph.nodes = {node("Conv", {"x", "w1", "b1"}, {"c1"}), node("Relu", {"c1"}, {"r1"}),
                 node("Conv", {"r1", "w2"}, {"c2"}),      node("MatMul", {"c2", "w3"}, {"m"}),
                 node("Add", {"m", "b3"}, {"y"}),         node("MatMul", {"r1", "w3"}, {"z"})};
  return ops::testing::model(std::move(graph), 17);
}

struct TwoNetworks {
  graph::Model right, wrong;
  std::vector<int> nodes;
};

TwoNetworks two_networks() {
  TwoNetworks both{network(), network(0.01f), {}};
  both.nodes = with_biases(*both.right.graph, {0, 2, 3});
  with_biases(*both.wrong.graph, {0, 2, 3});
  return both;
}

Sample sample_of(unsigned seed) {
  Array array = Array::make(*memory, graph::ElementType::float32, {1, 1, kSide, kSide}).value();
  std::ranges::copy(numbers(kSide * kSide, seed), array.elements<float>().begin());
  for (float& one : array.elements<float>()) one += 2;  // the mean is not zero
  return {{"x", Datum(array)}};
}

std::vector<Sample> samples_of(unsigned count) {
  std::vector<Sample> samples;
  for (unsigned i = 0; i < count; ++i) samples.push_back(sample_of(100 + i));
  return samples;
}

TEST(BiasCorrection, LinearOperatorsWithoutABiasGetOneIfTheyCan) {
  graph::Model model = network();
  EXPECT_THAT(with_biases(*model.graph, {0, 2, 3, 5}), ElementsAre(0, 2, 3));
  EXPECT_EQ(model.graph->nodes[2].inputs.size(), 3U);
  EXPECT_EQ(model.graph->initializers.back().dims, std::vector<std::int64_t>{kChannels});
}

TEST(BiasCorrection, AShiftIsAddedToTheBiasOfTheNodeOrOfTheFollowingAdd) {
  graph::Model model = network();
  with_biases(*model.graph, {0, 2, 3});
  const std::vector<double> five(5, 0.5), ten(kChannels, 0.5);
  const std::vector<int> fit{0, 3}, unfit{3, 5, 0};
  EXPECT_EQ(shift_biases(*model.graph, fit, std::vector{ten, five}), 2);
  EXPECT_EQ(shift_biases(*model.graph, unfit, std::vector{ten, five, {}}), 0);
  const auto& constants = model.graph->initializers;
  const auto found = std::ranges::find(constants, "b3", [](const auto& one) { return one.name.str(); });
  std::vector<float> wanted = numbers(5, 5);
  for (float& one : wanted) one += 0.5f;
  const auto* shifted = reinterpret_cast<const float*>(found->data.data());
  EXPECT_EQ(std::vector<float>(shifted, shifted + 5), wanted);
}

TEST(BiasCorrection, ShiftedBiasesGiveTheMeansOfTheOtherModel) {
  auto [right, wrong, nodes] = two_networks();
  const std::vector<Sample> samples = samples_of(6);
  const auto before = mean_errors(right, wrong, nodes, samples, {.threads = 2}).value();
  ASSERT_EQ(shift_biases(*wrong.graph, nodes, before), std::ssize(nodes));
  const auto after = mean_errors(right, wrong, nodes, samples, {.threads = 2}).value();
  const auto largest = [](const std::vector<double>& errors) {
    return std::abs(*std::ranges::max_element(errors, {}, [](double one) { return std::abs(one); }));
  };
  EXPECT_LT(largest(after[0]), 0.2 * largest(before[0]));  // its Relu has other slopes after the shift
  EXPECT_LT(largest(after[1]), 0.1 * largest(before[1]));
  // The MatMul is measured before its Add.
}

TEST(BiasCorrection, TheNumberOfThreadsMakesNoDifference) {
  const auto [right, wrong, nodes] = two_networks();
  const std::vector<Sample> samples = samples_of(8);
  const auto one = mean_errors(right, wrong, nodes, samples, {.threads = 1}).value();
  EXPECT_EQ(one, mean_errors(right, wrong, nodes, samples, {.threads = 2}).value());
  EXPECT_EQ(one, mean_errors(right, wrong, nodes, samples, {.threads = 5}).value());
}

TEST(BiasCorrection, KnownSumsOfTheFloatModelTakeThePlaceOfItsRuns) {
  const auto [right, wrong, nodes] = two_networks();
  const std::vector<Sample> samples = samples_of(6);
  const runtime::ExecutorOptions with{.threads = 2};
  const auto layers = MeasuredLayers::of(right, std::vector<int>{0, 2, 3, 5}, with);  // more than needed
  FloatSums known = float_sums(right, layers, samples, with).value();
  ASSERT_EQ(known.by_sample.size(), samples.size());
  const auto wanted = mean_errors(right, wrong, nodes, samples, with).value();
  EXPECT_EQ(mean_errors(right, wrong, nodes, samples, with, known).value(), wanted);
  // Other sums give other errors: the float model has not run.
  const FloatSums other = float_sums(wrong, layers, samples, with).value();
  EXPECT_NE(mean_errors(right, wrong, nodes, samples, with, other).value(), wanted);
  known.by_sample.pop_back();  // too few: it runs
  EXPECT_EQ(mean_errors(right, wrong, nodes, samples, with, known).value(), wanted);
}

TEST(BiasCorrection, OneSampleGivesNoCorrection) {
  const graph::Model right = network(), wrong = network(0.02f);
  const std::vector<int> nodes{0};
  EXPECT_TRUE(mean_errors(right, wrong, nodes, samples_of(1), {.threads = 2}).value()[0].empty());
}

TEST(BiasCorrection, AFailingSampleStopsAllOthers) {
  const graph::Model right = network(), wrong = network(0.02f);
  std::vector<Sample> samples = samples_of(5);
  samples[3] = {};
  EXPECT_FALSE(mean_errors(right, wrong, std::vector<int>{0, 2}, samples, {.threads = 2}).ok());
}

TEST(BiasCorrection, AFailureOfTheQuantizedModelAloneIsAnError) {
  const graph::Model right = network();
  graph::Model wrong = network();
  wrong.graph->nodes[4].inputs[1] = "w1";  // does not fit
  const auto errors = mean_errors(right, wrong, std::vector<int>{0, 2}, samples_of(5), {.threads = 2});
  EXPECT_FALSE(errors.ok());
}

TEST(BiasCorrection, TheChosenSamplesDoNotDependOnTheirOrder) {
  std::vector<Sample> all = samples_of(30);
  const auto chosen = [](const std::vector<Sample>& from) {
    ChosenSamples some(8);
    for (const Sample& one : from) EXPECT_TRUE(some.offer(one).ok());
    std::vector<float> firsts;
    for (const Sample& one : some.take()) firsts.push_back(one.at("x").array.data<float>()[0]);
    return firsts;
  };
  const std::vector<float> wanted = chosen(all);
  EXPECT_EQ(wanted.size(), 8U);
  std::ranges::reverse(all);
  EXPECT_EQ(chosen(all), wanted);
}

}  // namespace
}  // namespace anybit::quantizing
