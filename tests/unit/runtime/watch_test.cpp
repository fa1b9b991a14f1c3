#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/executor.hpp"
#include "unit/ops/graphs.hpp"

namespace anybit::runtime {
namespace {

using ops::Array;
using ops::Datum;
using ops::Dims;
using ops::ElementType;
using ops::testing::attribute;
using ops::testing::node;
using ops::testing::value;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::SizeIs;

using Seen = std::vector<std::pair<std::size_t, std::vector<float>>>;

const std::shared_ptr<ops::Memory> memory = ops::Memory::make();

Array floats(const Dims& dims, std::vector<float> values) {
  Array array = Array::make(*memory, ElementType::float32, dims).value();
  std::copy(values.begin(), values.end(), array.elements<float>().begin());
  return array;
}

graph::Tensor constant(std::string name, std::vector<std::int64_t> dims, std::vector<float> values) {
  graph::Tensor tensor = ops::testing::floats(std::move(name), std::move(dims));
  tensor.data = Bytes::own(std::move(values));
  return tensor;
}

struct Notes final : Watcher {
  Seen seen;
  std::optional<std::size_t> refused;
  Result<void> see(std::size_t watched, const Datum& value) override {
    EXPECT_EQ(value.array.count(), value.array.stored());
    if (refused == watched) return invalid_argument("seen enough");
    const auto elements = value.array.elements<float>();
    seen.emplace_back(watched, std::vector<float>(elements.begin(), elements.end()));
    return {};
  }
};

std::shared_ptr<graph::Model> model_of(graph::Graph graph) {
  return std::make_shared<graph::Model>(ops::testing::model(std::move(graph), 17));
}

std::unique_ptr<Executor> watching(std::shared_ptr<graph::Model> model, std::vector<std::string> names) {
  auto made = Executor::make(std::move(model), {.threads = 1, .watch = std::move(names)});
  EXPECT_TRUE(made.ok()) << made.error().text();
  return std::move(made).value();
}

// x → Add → Relu → y, with an unused node.
graph::Graph small() {
  graph::Graph graph;
  graph.inputs = {value("x", {"2"})};
  graph.outputs = {value("y", {"2"})};
  graph.initializers = {constant("one", {1}, {1}), constant("two", {1}, {2})};
  graph.nodes = {node("Add", {"one", "two"}, {"three"}), node("Add", {"x", "three"}, {"a"}),
                 node("Neg", {"a"}, {"dead"}), node("Relu", {"a"}, {"y"})};
  return graph;
}

TEST(Watch, ShowsInputsThenConstantsThenValuesInOrderOfComputation) {
  const auto executor = watching(model_of(small()), {"y", "a", "x", "three", "dead"});
  for (int run = 0; run < 3; ++run) {  // the first run records a plan, the others follow it
    Notes notes;
    ASSERT_TRUE(executor->run({{"x", Datum(floats({2}, {-5, 1}))}}, nullptr, &notes).ok());
    EXPECT_EQ(notes.seen, (Seen{{2, {-5, 1}}, {3, {3}}, {1, {-2, 4}}, {4, {2, -4}}, {0, {0, 4}}}));
  }
}

TEST(Watch, WithoutAWatcherNothingChanges) {
  const auto executor = watching(model_of(small()), {"y", "a"});
  const auto outputs = executor->run({{"x", Datum(floats({2}, {-5, 1}))}});
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ((*outputs)[0].array.data<float>()[1], 4);
}

TEST(Watch, AnErrorOfTheWatcherEndsTheRunAndNamesTheNode) {
  const auto executor = watching(model_of(small()), {"x", "a"});
  Notes notes;
  notes.refused = 1;
  const auto outputs = executor->run({{"x", Datum(floats({2}, {1, 1}))}}, nullptr, &notes);
  ASSERT_FALSE(outputs.ok());
  EXPECT_THAT(outputs.error().text(), HasSubstr("(Add)"));
  EXPECT_THAT(outputs.error().text(), HasSubstr("seen enough"));
  notes.refused = std::nullopt;
  EXPECT_TRUE(executor->run({{"x", Datum(floats({2}, {1, 1}))}}, nullptr, &notes).ok());
}

TEST(Watch, RejectsUnknownAndRepeatedNames) {
  auto none = Executor::make(model_of(small()), {.watch = {"b"}});
  ASSERT_FALSE(none.ok());
  EXPECT_THAT(none.error().text(), HasSubstr("no value 'b'"));
  auto twice = Executor::make(model_of(small()), {.watch = {"a", "a"}});
  ASSERT_FALSE(twice.ok());
  EXPECT_THAT(twice.error().text(), HasSubstr("'a' is to be watched twice"));
}

// A convolution to `channels`, then Relu: fused unless the value between them is watched.
graph::Graph convolution(std::int64_t channels) {
  graph::Graph graph;
  graph.inputs = {value("x", {"1", "8", "4", "4"})};
  graph.outputs = {value("y", {"1", "", "4", "4"})};
  std::vector<float> weights(static_cast<std::size_t>(channels * 8));
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = i % 3 == 0 ? -1.0f : 0.5f;
  graph.initializers = {constant("w", {channels, 8, 1, 1}, weights)};
  graph.nodes = {node("Conv", {"x", "w"}, {"c"}), node("Relu", {"c"}, {"r"}), node("Neg", {"r"}, {"y"})};
  return graph;
}

TEST(Watch, FusionsKeepWatchedValues) {
  Array x = floats({1, 8, 4, 4}, std::vector<float>(128));
  for (std::size_t i = 0; i < 128; ++i) x.mutable_data<float>()[i] = static_cast<float>(i % 11) - 5;
  for (const std::int64_t channels : {8, 5, 16, 1}) {  // blocks of 8, and padded ones
    SCOPED_TRACE(channels);
    EXPECT_THAT(watching(model_of(convolution(channels)), {})->program().steps, SizeIs(2));
    EXPECT_THAT(watching(model_of(convolution(channels)), {"r"})->program().steps, SizeIs(2));
    const auto executor = watching(model_of(convolution(channels)), {"c", "r"});
    EXPECT_THAT(executor->program().steps, SizeIs(3));
    for (int run = 0; run < 2; ++run) {
      Notes notes;
      const auto outputs = executor->run({{"x", Datum(x)}}, nullptr, &notes);
      ASSERT_TRUE(outputs.ok()) << outputs.error().text();
      ASSERT_THAT(notes.seen, SizeIs(2));
      std::vector<float> before = notes.seen[0].second, after = notes.seen[1].second;
      const auto y = (*outputs)[0].array.elements<float>();
      ASSERT_EQ(before.size(), y.size());  // no padding
      std::vector<float> expected(y.begin(), y.end());
      for (float& one : expected) one = -one + 0.0f;
      for (float& one : before) one = std::max(one, 0.0f);
      for (auto* list : {&before, &after, &expected}) std::ranges::sort(*list);
      EXPECT_EQ(before, expected);
      EXPECT_EQ(after, expected);
    }
  }
}

// If cond: then x + x, else x · x.
graph::Graph branching() {
  graph::Graph then_branch, else_branch;
  then_branch.nodes = {node("Add", {"x", "x"}, {"sum"}), node("Neg", {"sum"}, {"t"})};
  then_branch.outputs = {value("t", {"2"})};
  else_branch.nodes = {node("Mul", {"x", "x"}, {"square"}), node("Neg", {"square"}, {"e"})};
  else_branch.outputs = {value("e", {"2"})};
  graph::Graph graph;
  graph.inputs = {value("x", {"2"}), value("cond", {}, ElementType::boolean)};
  graph.outputs = {value("y", {"2"})};
  graph.nodes = {node("If", {"cond"}, {"y"},
                      {attribute("then_branch", graph::GraphBox(then_branch)),
                       attribute("else_branch", graph::GraphBox(else_branch))})};
  return graph;
}

TEST(Watch, ABranchShowsItsValuesWhenItIsEntered) {
  const auto executor = watching(model_of(branching()), {"sum", "square", "y"});
  for (const bool taken : {true, false, true}) {
    Array cond = Array::make(*memory, ElementType::boolean, {}).value();
    *cond.mutable_data<bool>() = taken;
    Notes notes;
    ASSERT_TRUE(
        executor->run({{"x", Datum(floats({2}, {3, 4}))}, {"cond", Datum(cond)}}, nullptr, &notes).ok());
    EXPECT_EQ(notes.seen, taken ? (Seen{{0, {6, 8}}, {2, {-6, -8}}}) : (Seen{{1, {9, 16}}, {2, {-9, -16}}}));
  }
}

// Three times: state = state + x.
graph::Graph looping() {
  graph::Graph body;
  body.inputs = {value("i", {}, ElementType::int64), value("go", {}, ElementType::boolean),
                 value("state", {"2"})};
  body.outputs = {value("go", {}, ElementType::boolean), value("next", {"2"})};
  body.nodes = {node("Add", {"state", "x"}, {"next"})};
  graph::Graph graph;
  graph.inputs = {value("x", {"2"})};
  graph.outputs = {value("y", {"2"})};
  graph.initializers = {ops::testing::int64s("trips", {3})};
  graph.nodes = {node("Loop", {"trips", "", "x"}, {"y"}, {attribute("body", graph::GraphBox(body))})};
  return graph;
}

TEST(Watch, ABodyShowsItsInputsAndValuesInEachIteration) {
  const auto executor = watching(model_of(looping()), {"state", "next", "y"});
  Notes notes;
  ASSERT_TRUE(executor->run({{"x", Datum(floats({2}, {1, 2}))}}, nullptr, &notes).ok());
  EXPECT_EQ(
      notes.seen,
      (Seen{{0, {1, 2}}, {1, {2, 4}}, {0, {2, 4}}, {1, {3, 6}}, {0, {3, 6}}, {1, {4, 8}}, {2, {4, 8}}}));
}

TEST(Watch, TheResultOfAFunctionIsShownUnderTheCallersName) {
  graph::Graph graph;
  graph.inputs = {value("x", {"2"})};
  graph.outputs = {value("y", {"2"})};
  graph.nodes = {node("Twice", {"x"}, {"a"}, {}, "own"), node("Neg", {"a"}, {"y"})};
  auto model = model_of(std::move(graph));
  graph::Function twice;
  twice.name = graph::Text("Twice");
  twice.domain = graph::Text("own");
  twice.inputs = {"in"};
  twice.outputs = {"out"};
  twice.nodes = {node("Add", {"in", "in"}, {"out"})};
  twice.opsets = model->opsets;
  model->functions = {twice};
  const auto executor = watching(model, {"a"});
  Notes notes;
  ASSERT_TRUE(executor->run({{"x", Datum(floats({2}, {1, 2}))}}, nullptr, &notes).ok());
  EXPECT_THAT(notes.seen, ElementsAre(Pair(0, ElementsAre(2, 4))));
  EXPECT_FALSE(Executor::make(model, {.watch = {"out"}}).ok());
}

}  // namespace
}  // namespace anybit::runtime
