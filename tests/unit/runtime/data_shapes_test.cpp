// Plans are keyed by input shapes; shapes inside, and the branch taken, may depend on data.
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
using ops::testing::int64s;
using ops::testing::node;
using ops::testing::value;

const std::shared_ptr<ops::Memory> memory = ops::Memory::make();

Array rising(const Dims& dims) {
  Array array = Array::make(*memory, ElementType::float32, dims).value();
  float next = 1;
  for (float& one : array.elements<float>()) one = next++;
  return array;
}

Array length(std::int64_t value) {
  Array array = Array::make(*memory, ElementType::int64, {1}).value();
  *array.mutable_data<std::int64_t>() = value;
  return array;
}

std::unique_ptr<Executor> executor_of(graph::Graph graph, bool fuse = true) {
  auto made = Executor::make(std::make_shared<graph::Model>(ops::testing::model(std::move(graph), 17)),
                             {.fuse = fuse});
  EXPECT_TRUE(made.ok()) << made.error().text();
  return std::move(made).value();
}

using Inputs = std::map<std::string, Datum>;

std::vector<float> output(const Executor& executor, const Inputs& inputs, std::size_t i = 0) {
  const auto outputs = executor.run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.error().text();
  if (!outputs.ok()) return {};
  const auto elements = (*outputs)[i].array.elements<float>();
  return {elements.begin(), elements.end()};
}

// Compares each run of one executor with the run of a new executor.
void expect_plans_change_nothing(const graph::Graph& graph, const std::vector<Inputs>& runs) {
  const auto kept = executor_of(graph);
  for (const Inputs& inputs : runs) {
    for (std::size_t i = 0; i < graph.outputs.size(); ++i)
      EXPECT_EQ(output(*kept, inputs, i), output(*executor_of(graph), inputs, i)) << "output " << i;
  }
}

// The first n rows of x.
graph::Node cut(const std::string& x, const std::string& n, const std::string& y) {
  return node("Slice", {x, "zero", n, "zero"}, {y});
}

graph::Graph with_lengths(std::vector<std::string> lengths) {
  graph::Graph graph;
  graph.inputs = {value("x", {"100"})};
  for (const std::string& one : lengths) graph.inputs.push_back(value(one, {"1"}, ElementType::int64));
  graph.initializers = {int64s("zero", {0})};
  return graph;
}

TEST(DataShapes, AValueLargerThanItsBufferIsNotOverwrittenInFreedMemory) {
  graph::Graph graph = with_lengths({"n"});
  graph.nodes = {cut("x", "n", "a"), node("Neg", {"a"}, {"b"}), cut("x", "n", "c"),
                 node("Sub", {"b", "c"}, {"d"}), node("Identity", {"d"}, {"y"})};
  graph.outputs = {value("y", {""})};
  std::vector<Inputs> runs;
  for (const std::int64_t n : {2, 100, 3, 50, 0, 100})
    runs.push_back({{"x", Datum(rising({100}))}, {"n", Datum(length(n))}});
  expect_plans_change_nothing(graph, runs);
}

TEST(DataShapes, OnlyThePlannedInputIsOverwritten) {
  graph::Graph graph = with_lengths({"n", "m"});
  graph.nodes = {cut("x", "n", "p"),
                 cut("x", "m", "q"),
                 node("Neg", {"p"}, {"a"}),
                 node("Neg", {"q"}, {"b"}),
                 node("Add", {"a", "b"}, {"sum"}),
                 node("Abs", {"sum"}, {"y"}),
                 node("Abs", {"b"}, {"z"})};
  graph.outputs = {value("y", {""}), value("z", {""})};
  std::vector<Inputs> runs;
  for (const auto& [n, m] : {std::pair(3, 1), std::pair(1, 3), std::pair(3, 3), std::pair(1, 3)})
    runs.push_back({{"x", Datum(rising({100}))}, {"n", Datum(length(n))}, {"m", Datum(length(m))}});
  expect_plans_change_nothing(graph, runs);
}

// A convolution's blocked-layout result that a branch and a later node need in plain layout.
TEST(DataShapes, ACopyNeededEarlierThanPlannedHasItsOwnMemory) {
  graph::Graph then_branch, else_branch;
  then_branch.nodes = {node("ReduceSum", {"conv"}, {"t"})};
  then_branch.outputs = {value("t", {"", "", "", ""})};
  else_branch.nodes = {node("ReduceSum", {"x"}, {"e"})};
  else_branch.outputs = {value("e", {"", "", "", ""})};
  graph::Graph graph;
  graph.inputs = {value("x", {"1", "8", "4", "4"}), value("taken", {}, ElementType::boolean)};
  graph.initializers = {ops::testing::floats("w", {8, 8, 1, 1})};
  graph.nodes = {node("Conv", {"x", "w"}, {"conv"}), node("Neg", {"x"}, {"z"}),
                 node("If", {"taken"}, {"sum"},
                      {attribute("then_branch", graph::GraphBox(then_branch)),
                       attribute("else_branch", graph::GraphBox(else_branch))}),
                 node("Abs", {"z"}, {"y"}),
                 node("ReduceMax", {"conv"}, {"most"}, {attribute("keepdims", std::int64_t{0})})};
  graph.outputs = {value("sum", {"", "", "", ""}), value("y", {"", "", "", ""}), value("most", {})};
  std::vector<Inputs> runs;
  for (const bool taken : {false, true, false, true}) {
    Array condition = Array::make(*memory, ElementType::boolean, {}).value();
    *condition.mutable_data<bool>() = taken;
    runs.push_back({{"x", Datum(rising({1, 8, 4, 4}))}, {"taken", Datum(condition)}});
  }
  expect_plans_change_nothing(graph, runs);
}

}  // namespace
}  // namespace anybit::runtime
