// Variables, which are read and written between runs. The reference is the same model with the values as
// constants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>

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
using Values = std::map<std::string, Datum>;

const std::shared_ptr<ops::Memory> memory = ops::Memory::make();

Array floats(const Dims& dims, const std::function<float(std::int64_t)>& of) {
  Array array = Array::make(*memory, ElementType::float32, dims).value();
  for (std::int64_t i = 0; i < array.count(); ++i) array.mutable_data<float>()[i] = of(i);
  return array;
}
Array filled(const Dims& dims, float number) {
  return floats(dims, [&](std::int64_t) { return number; });
}
Array mixed(const Dims& dims, std::uint32_t seed) {
  std::mt19937 random(seed);
  return floats(dims, [&](std::int64_t) { return std::uniform_real_distribution<float>(-1, 1)(random); });
}

std::shared_ptr<graph::Model> model_of(graph::Graph graph) {
  return std::make_shared<graph::Model>(ops::testing::model(std::move(graph)));
}

std::unique_ptr<Executor> executor_of(std::shared_ptr<graph::Model> model, const ExecutorOptions& options) {
  auto made = Executor::make(std::move(model), options);
  EXPECT_TRUE(made.ok()) << made.error().text();
  return made.ok() ? std::move(made).value() : nullptr;
}

std::vector<float> contents(const Array& array) {
  const auto elements = array.elements<float>();
  return {elements.begin(), elements.end()};
}

std::vector<float> run(const Executor& executor, const Values& inputs) {
  const auto outputs = executor.run(inputs);
  EXPECT_TRUE(outputs.ok()) << outputs.error().text();
  return outputs.ok() ? contents((*outputs)[0].array) : std::vector<float>();
}

// The model with other constants.
std::shared_ptr<graph::Model> with_values(const graph::Model& model, const Values& values) {
  auto copy = std::make_shared<graph::Model>(model);
  for (graph::Tensor& one : copy->graph->initializers) {
    const auto found = values.find(one.name.str());
    if (found != values.end()) one.data = found->second.array.to_constant().data;
  }
  return copy;
}

// y = x · w + b
graph::Graph line() {
  graph::Graph graph;
  graph.inputs = {value("x", {"n", "2"})};
  graph.outputs = {value("y", {"n", "2"})};
  graph.initializers = {ops::testing::floats("w", {2, 2}), ops::testing::floats("b", {2})};
  graph.nodes = {node("MatMul", {"x", "w"}, {"m"}), node("Add", {"m", "b"}, {"y"})};
  return graph;
}

const std::vector<std::string> kLine{"w", "b"};

TEST(Variables, AreReadAndWrittenBetweenRuns) {
  const auto executor = executor_of(model_of(line()), {.threads = 1, .variables = kLine});
  const Values x{{"x", filled({1, 2}, 3)}};
  EXPECT_THAT(run(*executor, x), ElementsAre(7, 7));
  EXPECT_THAT(contents(executor->variable("w").value()), ElementsAre(1, 1, 1, 1));
  ASSERT_TRUE(executor->write({{"w", filled({2, 2}, 2)}}).ok());
  EXPECT_THAT(run(*executor, x), ElementsAre(13, 13));
  ASSERT_TRUE(executor->write({{"w", filled({2, 2}, 0)}, {"b", filled({2}, 5)}}).ok());
  EXPECT_THAT(run(*executor, x), ElementsAre(5, 5));
  EXPECT_THAT(contents(executor->variable("b").value()), ElementsAre(5, 5));
  EXPECT_EQ(executor->variables(), kLine);
}

TEST(Variables, AValueThatWasReadOrPassedDoesNotChange) {
  const auto executor = executor_of(model_of(line()), {.threads = 1, .variables = kLine});
  Array given = filled({2}, 4);
  ASSERT_TRUE(executor->write({{"b", given}}).ok());
  const Array before = executor->variable("b").value();
  given.mutable_data<float>()[0] = 9;
  EXPECT_THAT(contents(executor->variable("b").value()), ElementsAre(4, 4));
  ASSERT_TRUE(executor->write({{"b", filled({2}, 6)}}).ok());
  EXPECT_THAT(contents(before), ElementsAre(4, 4));
}

TEST(Variables, AWrongWriteNamesTheExpectedTypeAndChangesNothing) {
  const auto executor = executor_of(model_of(line()), {.threads = 1, .variables = kLine});
  const auto refused = [&](const Values& values) {
    const auto written = executor->write(values);
    return written.ok() ? "it is taken" : written.error().text();
  };
  EXPECT_THAT(refused({{"b", filled({2}, 7)}, {"w", filled({3, 2}, 7)}}),
              ::testing::AllOf(HasSubstr("variable 'w'"), HasSubstr("float32[3, 2] is given"),
                               HasSubstr("it is float32[2, 2]")));
  const Array whole = Array::make(*memory, ElementType::int32, {2}).value();
  EXPECT_THAT(refused({{"b", whole}}), HasSubstr("int32[2] is given"));
  EXPECT_THAT(refused({{"b", Datum()}}), HasSubstr("nothing is given"));
  EXPECT_THAT(refused({{"c", filled({2}, 7)}}), HasSubstr("no variable 'c'"));
  EXPECT_THAT(run(*executor, {{"x", filled({1, 2}, 3)}}), ElementsAre(7, 7));
  EXPECT_FALSE(executor->variable("x").ok());
}

TEST(Variables, AreDenseInitializersNamedOnce) {
  const auto refused = [](std::vector<std::string> names) {
    const auto made = Executor::make(model_of(line()), {.threads = 1, .variables = std::move(names)});
    return made.ok() ? "it is taken" : made.error().text();
  };
  EXPECT_THAT(refused({"x"}), HasSubstr("no initializer 'x'"));
  EXPECT_THAT(refused({"m"}), HasSubstr("no initializer 'm'"));
  EXPECT_THAT(refused({"b", "b"}), HasSubstr("'b' is named twice"));
  const auto without = executor_of(model_of(line()), {.threads = 1});
  EXPECT_THAT(without->write({{"b", filled({2}, 1)}}).error().text(), HasSubstr("there is no variable 'b'"));
}

TEST(Variables, AnInputWithADefaultMayBeOne) {
  graph::Graph graph = line();
  graph.inputs.push_back(value("b", {"2"}));
  const auto executor = executor_of(model_of(graph), {.threads = 1, .variables = {"b"}});
  EXPECT_EQ(executor->inputs().size(), 1U);
  ASSERT_TRUE(executor->write({{"b", filled({2}, 5)}}).ok());
  EXPECT_THAT(run(*executor, {{"x", filled({1, 2}, 3)}}), ElementsAre(11, 11));
}

// Each of these may overwrite its input if that has no other consumer, or share it.
TEST(Variables, NoOperatorOverwritesOne) {
  graph::Graph graph;
  graph.inputs = {value("x", {"4"})};
  graph.outputs = {value("y", {"4"}), value("same", {"4"}), value("v", {"4"})};
  graph.initializers = {ops::testing::floats("v", {4}), ops::testing::int64s("four", {4})};
  graph.nodes = {node("Neg", {"v"}, {"a"}),          node("Add", {"v", "x"}, {"b"}),
                 node("Mul", {"a", "b"}, {"c"}),     node("Relu", {"v"}, {"d"}),
                 node("Sub", {"c", "d"}, {"y"}),     node("Shape", {"x"}, {"s"}),
                 node("Reshape", {"v", "s"}, {"r"}), node("Identity", {"r"}, {"same"})};
  const auto executor = executor_of(model_of(graph), {.threads = 1, .variables = {"v"}});
  ASSERT_TRUE(executor->write({{"v", filled({4}, 2)}}).ok());
  for (int i = 0; i < 3; ++i) {
    auto outputs = executor->run({{"x", filled({4}, 1)}});
    ASSERT_TRUE(outputs.ok()) << outputs.error().text();
    EXPECT_THAT(contents((*outputs)[0].array), ElementsAre(-8, -8, -8, -8));
    for (const std::size_t one : {0, 1, 2}) {  // the caller owns the outputs
      std::ranges::fill((*outputs)[one].array.elements<float>(), 100);
    }
    EXPECT_THAT(contents(executor->variable("v").value()), ElementsAre(2, 2, 2, 2));
  }
}

TEST(Variables, AreVisibleInInnerGraphs) {
  graph::Graph then, otherwise, graph;
  then.outputs = {value("t", {"n", "2"})};
  then.nodes = {node("Transpose", {"w"}, {"wt"}), node("MatMul", {"x", "wt"}, {"t"})};
  otherwise.outputs = {value("e", {"n", "2"})};
  otherwise.nodes = {node("MatMul", {"x", "doubled"}, {"e"})};
  graph.inputs = {value("x", {"n", "2"}), value("which", {}, ElementType::boolean)};
  graph.outputs = {value("y", {"n", "2"})};
  graph.initializers = {ops::testing::floats("w", {2, 2})};
  graph.nodes = {node("Add", {"w", "w"}, {"doubled"}),
                 node("If", {"which"}, {"y"},
                      {attribute("then_branch", graph::GraphBox(then)),
                       attribute("else_branch", graph::GraphBox(otherwise))})};
  const auto executor = executor_of(model_of(graph), {.threads = 1, .variables = {"w"}});
  Array which = Array::make(*memory, ElementType::boolean, {}).value();
  for (int i = 0; i < 6; ++i) {
    const float number = static_cast<float>(i / 2);
    which.mutable_data<bool>()[0] = i % 2 == 0;
    if (i % 2 == 0) {
      const Array next = floats({2, 2}, [&](std::int64_t k) { return number + static_cast<float>(k); });
      ASSERT_TRUE(executor->write({{"w", next}}).ok());
    }
    const auto got = run(*executor, {{"x", filled({1, 2}, 1)}, {"which", which}});
    const float first = i % 2 == 0 ? 2 * number + 1 : 2 * (2 * number + 2);
    EXPECT_EQ(got[0], first) << i;
  }
}

// A long chain of values that depend on a variable, needed first by a late step.
TEST(Variables, MayFeedLongChains) {
  graph::Graph graph;
  graph.inputs = {value("x", {"1"})};
  graph.outputs = {value("y", {"1"}), value("z", {"1"})};
  graph.initializers = {ops::testing::floats("v", {1})};
  std::string last = "v";
  for (int i = 0; i < 20000; ++i) {
    const std::string next = "c" + std::to_string(i);
    graph.nodes.push_back(node("Neg", {last}, {next}));
    last = next;
  }
  graph.nodes.push_back(node("Add", {"x", last}, {"y"}));
  graph.nodes.push_back(node("Mul", {"x", "c1"}, {"z"}));
  const auto executor = executor_of(model_of(graph), {.threads = 1, .variables = {"v"}});
  for (const float number : {3.0f, 3.0f, 4.0f}) {
    ASSERT_TRUE(executor->write({{"v", filled({1}, number)}}).ok());
    const auto outputs = executor->run({{"x", filled({1}, 1)}});
    ASSERT_TRUE(outputs.ok()) << outputs.error().text();
    EXPECT_THAT(contents((*outputs)[0].array), ElementsAre(1 + number));
    EXPECT_THAT(contents((*outputs)[1].array), ElementsAre(number));
  }
}

// w ← w − rate · x, a step of an optimizer; the output is not returned to the caller.
TEST(Variables, AnOutputMayUpdateOne) {
  graph::Graph graph;
  graph.inputs = {value("x", {"2"})};
  graph.outputs = {value("next", {"2"}), value("y", {"2"})};
  graph.initializers = {ops::testing::floats("w", {2}), ops::testing::floats("rate", {})};
  graph.nodes = {node("Mul", {"x", "rate"}, {"step"}), node("Sub", {"w", "step"}, {"next"}),
                 node("Mul", {"w", "x"}, {"y"})};
  const ExecutorOptions options{
      .threads = 1, .variables = {"w"}, .updates = {{.variable = "w", .output = "next"}}};
  const auto executor = executor_of(model_of(graph), options);
  ASSERT_EQ(executor->outputs().size(), 1U);
  for (int i = 0; i < 4; ++i) {
    const float w = 1 - static_cast<float>(i) * 2;
    EXPECT_THAT(run(*executor, {{"x", filled({2}, 2)}}), ElementsAre(w * 2, w * 2));
    EXPECT_THAT(contents(executor->variable("w").value()), ElementsAre(w - 2, w - 2));
  }
  ASSERT_TRUE(executor->write({{"w", filled({2}, 0)}}).ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) EXPECT_TRUE(executor->run({{"x", filled({2}, 1)}}).ok());
    });
  }
  for (std::thread& one : threads) one.join();
  EXPECT_THAT(contents(executor->variable("w").value()), ElementsAre(-200, -200));  // no update is lost
  const auto wrong =
      Executor::make(model_of(graph), {.variables = {"w"}, .updates = {{.variable = "w", .output = "step"}}});
  EXPECT_THAT(wrong.error().text(), HasSubstr("no output 'step'"));
  const auto none = Executor::make(model_of(graph), {.updates = {{.variable = "w", .output = "next"}}});
  EXPECT_THAT(none.error().text(), HasSubstr("variable 'w'"));
}

// Convolutions, linear operators, recurrent layers, normalizations: with packed weights and others.
std::vector<graph::Graph> many_operators() {
  std::vector<graph::Graph> all;
  const auto add = [&](const std::string& op, std::vector<std::string> dims,
                       std::vector<std::vector<std::int64_t>> weights,
                       std::vector<graph::Attribute> attributes = {}) {
    graph::Graph graph;
    graph.inputs = {value("x", std::move(dims))};
    graph.outputs = {value("y", {})};
    graph.outputs[0].type.reset();
    std::vector<std::string> inputs{"x"};
    for (std::size_t i = 0; i < weights.size(); ++i) {
      inputs.push_back("w" + std::to_string(i));
      graph.initializers.push_back(ops::testing::floats(inputs.back(), weights[i]));
    }
    graph.nodes = {node(op, std::move(inputs), {"y"}, std::move(attributes))};
    all.push_back(std::move(graph));
  };
  const auto list = [](std::string name, std::vector<std::int64_t> numbers) {
    return attribute(std::move(name), std::move(numbers));
  };
  const auto one = [](std::string name, std::int64_t number) { return attribute(std::move(name), number); };
  add("Conv", {"2", "16", "9", "9"}, {{24, 16, 3, 3}, {24}}, {list("pads", {1, 1, 1, 1})});
  add("Conv", {"1", "3", "9", "9"}, {{8, 3, 3, 3}});
  add("Conv", {"1", "16", "9", "9"}, {{16, 1, 3, 3}, {16}}, {one("group", 16)});
  add("Conv", {"1", "6", "9"}, {{4, 3, 3}}, {one("group", 2)});
  add("ConvTranspose", {"1", "4", "5", "5"}, {{4, 6, 2, 2}, {6}}, {list("strides", {2, 2})});
  add("MatMul", {"3", "20"}, {{20, 30}});
  add("MatMul", {"2", "3", "20"}, {{2, 20, 7}});
  add("Gemm", {"3", "20"}, {{30, 20}, {30}}, {one("transB", 1)});
  add("BatchNormalization", {"2", "4", "5"}, {{4}, {4}, {4}, {4}});
  add("LayerNormalization", {"2", "4", "8"}, {{8}, {8}});
  add("PRelu", {"2", "4"}, {{4}});
  add("Mul", {"2", "4"}, {{4}});
  add("LSTM", {"5", "2", "3"}, {{1, 16, 3}, {1, 16, 4}, {1, 32}}, {one("hidden_size", 4)});
  add("GRU", {"5", "2", "3"}, {{1, 12, 3}, {1, 12, 4}}, {one("hidden_size", 4)});
  add("RNN", {"5", "2", "3"}, {{1, 4, 3}, {1, 4, 4}}, {one("hidden_size", 4)});
  return all;
}

Array shaped(const graph::ValueInfo& info, std::uint32_t seed) {
  Dims dims;
  for (const graph::Dimension& one : info.type->tensor()->shape->dims) dims.push_back(one.size());
  return mixed(dims, seed);
}

TEST(Variables, GiveTheBitsOfConstantsInManyOperators) {
  for (const graph::Graph& graph : many_operators()) {
    const auto model = model_of(graph);
    std::vector<std::string> names;
    for (const graph::Tensor& one : graph.initializers) names.push_back(one.name.str());
    const auto executor = executor_of(model, {.threads = 2, .variables = names});
    const Values x{{"x", shaped(graph.inputs[0], 7)}};
    for (std::uint32_t write = 0; write < 3; ++write) {
      Values weights;
      for (const graph::Tensor& one : graph.initializers) {
        // Variances and slopes must be positive.
        Array array = mixed(Dims{std::span(one.dims)}, write + 10);
        for (float& number : array.elements<float>()) number = std::abs(number) + 0.1f;
        weights.emplace(one.name.str(), array);
      }
      ASSERT_TRUE(executor->write(weights).ok());
      const auto constant = executor_of(with_values(*model, weights), {.threads = 2});
      for (int again = 0; again < 3; ++again)
        EXPECT_EQ(run(*executor, x), run(*constant, x))
            << graph.nodes[0].op_type.str() << ", write " << write;
    }
  }
}

// The graph of training with quantized weights: w → Q → DQ → Conv.
TEST(Variables, MayBeQuantizedOnTheWay) {
  graph::Graph graph;
  graph.inputs = {value("x", {"1", "8", "6", "6"})};
  graph.outputs = {value("y", {"1", "16", "4", "4"})};
  graph.initializers = {ops::testing::floats("w", {16, 8, 3, 3}), ops::testing::floats("scale", {16})};
  for (const std::string op : {"QuantizeLinear", "DequantizeLinear"}) {
    const bool first = op == "QuantizeLinear";
    graph.nodes.push_back(node(op, {first ? "w" : "quantized", "scale"}, {first ? "quantized" : "rounded"},
                               {attribute("axis", std::int64_t{0})}));
  }
  graph.nodes[0].attributes.push_back(attribute("output_dtype", std::int64_t{3}));
  graph.nodes.push_back(node("Conv", {"x", "rounded"}, {"c"}));
  graph.nodes.push_back(node("Relu", {"c"}, {"y"}));
  const auto model = model_of(graph);
  const auto executor = executor_of(model, {.threads = 1, .variables = {"w", "scale"}});
  const Values x{{"x", mixed({1, 8, 6, 6}, 1)}};
  for (std::uint32_t write = 0; write < 4; ++write) {
    Values values{{"scale", filled({16}, 0.01f * static_cast<float>(1 + write / 2))}};
    if (write % 2 == 0) values.emplace("w", mixed({16, 8, 3, 3}, write));
    ASSERT_TRUE(executor->write(values).ok());
    values.emplace("w", executor->variable("w").value());
    const auto constant = executor_of(with_values(*model, values), {.threads = 1});
    for (int again = 0; again < 2; ++again) EXPECT_EQ(run(*executor, x), run(*constant, x)) << write;
  }
}

// The same with updates in each run: values that depend on the weights then lie in the plan's memory.
TEST(Variables, MayBeQuantizedAndUpdated) {
  graph::Graph graph;
  graph.inputs = {value("x", {"4", "32"})};
  graph.outputs = {value("y", {"4", "32"}), value("next", {"32", "32"})};
  graph.initializers = {ops::testing::floats("w", {32, 32}),
                        graph::make_tensor("scale", {}, std::vector<float>{0.01f}),
                        graph::make_tensor("rate", {}, std::vector<float>{0.125f})};
  graph.nodes = {
      node("QuantizeLinear", {"w", "scale"}, {"quantized"}, {attribute("output_dtype", std::int64_t{3})}),
      node("DequantizeLinear", {"quantized", "scale"}, {"rounded"}),
      node("Neg", {"x"}, {"before"}),
      node("MatMul", {"x", "rounded"}, {"y"}),
      node("Transpose", {"x"}, {"xt"}),
      node("MatMul", {"xt", "y"}, {"g"}),
      node("Mul", {"g", "rate"}, {"step"}),
      node("Sub", {"w", "step"}, {"next"}),
  };
  const auto model = model_of(graph);
  const auto executor = executor_of(
      model, {.threads = 1, .variables = {"w"}, .updates = {{.variable = "w", .output = "next"}}});
  ASSERT_TRUE(executor->write({{"w", mixed({32, 32}, 5)}}).ok());
  const Values x{{"x", mixed({4, 32}, 1)}};
  for (int step = 0; step < 6; ++step) {
    const Array before = executor->variable("w").value();
    const auto constant = executor_of(with_values(*model, {{"w", before}}), {.threads = 1, .fuse = false});
    const auto expected = constant->run(x);
    ASSERT_TRUE(expected.ok());
    EXPECT_EQ(run(*executor, x), contents((*expected)[0].array)) << step;
    EXPECT_EQ(contents(executor->variable("w").value()), contents((*expected)[1].array)) << step;
  }
}

// A run sees all values of a write or none, with concurrent writes.
TEST(Variables, ARunSeesASnapshot) {
  graph::Graph graph;
  graph.inputs = {value("x", {"64"})};
  graph.outputs = {value("y", {"64"})};
  graph.initializers = {ops::testing::floats("a", {64, 64}), ops::testing::floats("b", {64, 64})};
  graph.nodes = {node("MatMul", {"x", "a"}, {"p"}), node("MatMul", {"x", "b"}, {"q"}),
                 node("Sub", {"p", "q"}, {"y"})};
  const auto executor = executor_of(model_of(graph), {.threads = 1, .variables = {"a", "b"}});
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (int i = 0; i < 200; ++i) {
      const Array next = filled({64, 64}, static_cast<float>(i));
      EXPECT_TRUE(executor->write({{"a", next}, {"b", next}}).ok());
    }
    done = true;
  });
  std::vector<std::thread> runners;
  for (int t = 0; t < 3; ++t) {
    runners.emplace_back([&] {
      while (!done) {
        const auto got = run(*executor, {{"x", filled({64}, 1)}});
        EXPECT_TRUE(std::ranges::all_of(got, [](float one) { return one == 0; }));
      }
    });
  }
  writer.join();
  for (std::thread& one : runners) one.join();
}

TEST(Variables, ExecutorsOfOneModelHaveTheirOwn) {
  const auto model = model_of(line());
  const ExecutorOptions options{.threads = 1, .variables = kLine};
  const auto one = executor_of(model, options), other = executor_of(model, options);
  ASSERT_TRUE(one->write({{"b", filled({2}, 5)}}).ok());
  EXPECT_THAT(run(*one, {{"x", filled({1, 2}, 3)}}), ElementsAre(11, 11));
  EXPECT_THAT(run(*other, {{"x", filled({1, 2}, 3)}}), ElementsAre(7, 7));
}

struct Notes final : Watcher {
  std::vector<std::vector<float>> seen;
  Result<void> see(std::size_t, const Datum& value) override {
    seen.push_back(contents(value.array));
    return {};
  }
};

TEST(Variables, AndValuesThatDependOnThemCanBeWatched) {
  graph::Graph graph;
  graph.inputs = {value("x", {"1"})};
  graph.outputs = {value("y", {"1"})};
  graph.initializers = {ops::testing::floats("v", {1})};
  graph.nodes = {node("Neg", {"v"}, {"n"}), node("Add", {"x", "n"}, {"y"})};
  const auto executor = executor_of(model_of(graph), {.threads = 1, .watch = {"v", "n"}, .variables = {"v"}});
  for (int i = 0; i < 3; ++i) {
    Notes notes;
    ASSERT_TRUE(executor->run({{"x", filled({1}, 1)}}, nullptr, &notes).ok());
    EXPECT_THAT(notes.seen, ElementsAre(ElementsAre(1), ElementsAre(-1)));
  }
}

// Packed weights are made again only after a write, and replace the old ones.
TEST(Variables, MemoryIsReportedAndStaysTheSame) {
  graph::Graph graph;
  graph.inputs = {value("x", {"1", "256"})};
  graph.outputs = {value("y", {"1", "256"})};
  graph.initializers = {ops::testing::floats("w", {256, 256})};
  graph.nodes = {node("MatMul", {"x", "w"}, {"y"})};
  const auto executor = executor_of(model_of(graph), {.threads = 1, .variables = {"w"}});
  constexpr std::int64_t kWeight = 256 * 256 * 4;
  const std::int64_t before = executor->memory().used();
  run(*executor, {{"x", filled({1, 256}, 1)}});
  EXPECT_GE(executor->memory().used(), before + kWeight);  // packed
  std::int64_t used = 0;
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(executor->write({{"w", filled({256, 256}, static_cast<float>(i))}}).ok());
    run(*executor, {{"x", filled({1, 256}, 1)}});
    if (i == 0) used = executor->memory().used();
    EXPECT_EQ(executor->memory().used(), used);
  }
  EXPECT_GE(used, before + 2 * kWeight);  // and the value itself
  const auto small =
      executor_of(model_of(graph), {.threads = 1, .max_memory = kWeight / 2, .variables = {"w"}});
  EXPECT_THAT(small->write({{"w", filled({256, 256}, 1)}}).error().text(),
              ::testing::AllOf(HasSubstr("variable 'w'"), HasSubstr("memory limit")));
}

}  // namespace
}  // namespace anybit::runtime
