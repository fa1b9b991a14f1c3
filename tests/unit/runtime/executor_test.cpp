#include "runtime/executor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/poison.hpp"
#include "unit/count_allocations.hpp"
#include "unit/ops/graphs.hpp"

namespace anybit::runtime {
namespace {

using anybit::testing::allocations;
using ops::Array;
using ops::Datum;
using ops::Dims;
using ops::ElementType;
using ops::testing::node;
using ops::testing::value;
using ::testing::HasSubstr;

const std::shared_ptr<ops::Memory> memory = ops::Memory::make();

Array floats(const Dims& dims, float first = 1) {
  Array array = Array::make(*memory, ElementType::float32, dims).value();
  for (float& one : array.elements<float>()) one = first++;
  return array;
}

std::vector<float> contents(const Datum& datum) {
  const auto elements = datum.array.elements<float>();
  return {elements.begin(), elements.end()};
}

// (x + x) · x, then flattened: a chain whose values can share memory.
std::shared_ptr<graph::Model> chain() {
  auto model = std::make_shared<graph::Model>();
  model->ir_version = 9;
  graph::OpsetImport opset;
  opset.version = 17;
  model->opsets.push_back(opset);
  model->graph.emplace();
  model->graph->inputs = {value("x", {"n", "4"})};
  model->graph->outputs = {value("y", {"", ""})};
  model->graph->nodes = {node("Add", {"x", "x"}, {"a"}), node("Mul", {"a", "x"}, {"b"}),
                         node("Add", {"b", "a"}, {"c"}), node("Mul", {"c", "c"}, {"d"}),
                         node("Flatten", {"d"}, {"y"}, {ops::testing::attribute("axis", std::int64_t{0})})};
  return model;
}

std::unique_ptr<Executor> executor_of(std::shared_ptr<graph::Model> model,
                                      const ExecutorOptions& options = {.threads = 2}) {
  auto made = Executor::make(std::move(model), options);
  EXPECT_TRUE(made.ok()) << made.error().text();
  return std::move(made).value();
}

float expected(float x) {
  const float a = x + x, c = a * x + a;
  return c * c;
}

TEST(Executor, RunsAChain) {
  const auto executor = executor_of(chain());
  const auto outputs = executor->run({{"x", Datum(floats({2, 4}))}});
  ASSERT_TRUE(outputs.ok()) << outputs.error().text();
  EXPECT_EQ((*outputs)[0].array.dims(), (Dims{1, 8}));
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_EQ(contents((*outputs)[0])[i], expected(static_cast<float>(i + 1)));
}

TEST(Executor, ShapesMayChangeFromRunToRunAndBack) {
  const auto executor = executor_of(chain());
  for (const std::int64_t n : {1, 5, 1, 0, 3, 5, 1}) {
    const auto outputs = executor->run({{"x", Datum(floats({n, 4}))}});
    ASSERT_TRUE(outputs.ok());
    const auto got = contents((*outputs)[0]);
    ASSERT_EQ(std::ssize(got), 4 * n);
    for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(got[i], expected(static_cast<float>(i + 1)));
  }
}

// A convolution's blocked-layout result is copied to plain layout for the Reshape, which shares the copy with
// its output: it must live until the Transpose has read it.
TEST(Executor, AReshapedCopyInPlainLayoutLivesUntilItsLastUse) {
  graph::Graph graph;
  graph.inputs = {value("x", {"1", "8", "6", "6"})};
  graph.outputs = {value("y", {"24", "24"})};
  graph.initializers = {ops::testing::floats("w", {16, 8, 1, 1}), ops::testing::int64s("matrix", {24, 24})};
  graph.nodes = {node("Conv", {"x", "w"}, {"c"}), node("Reshape", {"c", "matrix"}, {"r"}),
                 node("Transpose", {"r"}, {"t"}), node("Neg", {"t"}, {"y"})};
  const auto executor = executor_of(std::make_shared<graph::Model>(ops::testing::model(std::move(graph))));
  const auto first = executor->run({{"x", Datum(floats({1, 8, 6, 6}))}});
  ASSERT_TRUE(first.ok()) << first.error().text();
  const auto expected = contents((*first)[0]);
  const auto planned = executor->run({{"x", Datum(floats({1, 8, 6, 6}))}});
  ASSERT_TRUE(planned.ok()) << planned.error().text();
  EXPECT_EQ(contents((*planned)[0]), expected);
}

TEST(Executor, AnOutputThatIsAConstantIsCopied) {
  graph::Graph graph;
  graph.inputs = {value("x", {"1"})};
  graph.outputs = {value("y", {"2"}), value("z", {"1"})};
  graph.initializers = {graph::make_tensor("scale", {}, std::vector<float>{0.5f})};
  graph::Tensor integers;
  integers.name = graph::Text("integers");
  integers.element = static_cast<std::int32_t>(ElementType::int8);
  integers.dims = {2};
  integers.data = Bytes::own(std::vector<std::int8_t>{2, 4});
  graph.initializers.push_back(integers);
  graph.nodes = {node("DequantizeLinear", {"integers", "scale"}, {"y"}), node("Relu", {"x"}, {"z"})};
  const auto executor = executor_of(std::make_shared<graph::Model>(ops::testing::model(std::move(graph))));
  for (int i = 0; i < 2; ++i) {
    auto outputs = executor->run({{"x", Datum(floats({1}))}});
    ASSERT_TRUE(outputs.ok()) << outputs.error().text();
    EXPECT_EQ(contents((*outputs)[0]), (std::vector<float>{1, 2}));
    std::ranges::fill((*outputs)[0].array.elements<float>(), 9);
  }
}

// Linear operators and pooling in float.
std::shared_ptr<graph::Model> matmuls() {
  graph::Graph graph;
  graph.inputs = {value("x", {"1", "4", "8", "8"})};
  graph.outputs = {value("y", {"1", "3"})};
  graph.initializers = {ops::testing::floats("w", {8, 8}), ops::testing::floats("v", {4, 3}),
                        ops::testing::floats("b", {3})};
  graph.nodes = {node("MatMul", {"x", "w"}, {"m"}),
                 node("MaxPool", {"m"}, {"p"},
                      {ops::testing::attribute("kernel_shape", std::vector<std::int64_t>{2, 2})}),
                 node("GlobalAveragePool", {"p"}, {"g"}),
                 node("Flatten", {"g"}, {"f"}),
                 node("Gemm", {"f", "v", "b"}, {"s"}),
                 node("Softmax", {"s"}, {"y"})};
  return std::make_shared<graph::Model>(ops::testing::model(std::move(graph)));
}

// The same between QuantizeLinear and DequantizeLinear, in an integer type.
template <class T>
std::shared_ptr<graph::Model> quantized(ElementType type) {
  graph::Graph graph;
  graph.inputs = {value("x", {"1", "4", "8", "8"})};
  graph.outputs = {value("y", {"1", "3"})};
  graph.initializers = {
      graph::make_tensor<float>("scale", ElementType::float32, {}, {0.5F}),
      graph::make_tensor<T>("zero", type, {}, {T{1}}),
      graph::make_tensor<float>("ws", ElementType::float32, {}, {0.25F}),
      graph::make_tensor<std::int8_t>("wz", ElementType::int8, {}, {0}),
      graph::make_tensor<std::int8_t>("w", ElementType::int8, {5, 4, 3, 3}, std::vector<std::int8_t>(180, 2)),
      graph::make_tensor<std::int8_t>("v", ElementType::int8, {5, 3}, std::vector<std::int8_t>(15, 3))};
  auto& nodes = graph.nodes;
  const auto pair = [&](const std::string& name) {
    nodes.push_back(node("QuantizeLinear", {name, "scale", "zero"}, {name + "q"}));
    nodes.push_back(node("DequantizeLinear", {name + "q", "scale", "zero"}, {name + "d"}));
  };
  nodes = {node("DequantizeLinear", {"w", "ws", "wz"}, {"wd"}),
           node("DequantizeLinear", {"v", "ws", "wz"}, {"vd"})};
  pair("x");
  nodes.push_back(node("Conv", {"xd", "wd"}, {"c"}));
  nodes.push_back(node("Relu", {"c"}, {"r"}));
  pair("r");
  nodes.push_back(node("Add", {"rd", "rd"}, {"a"}));
  pair("a");
  nodes.push_back(node("GlobalAveragePool", {"ad"}, {"g"}));
  pair("g");
  nodes.push_back(node("Flatten", {"gd"}, {"f"}));
  pair("f");
  nodes.push_back(node("MatMul", {"fd", "vd"}, {"y"}));
  return std::make_shared<graph::Model>(ops::testing::model(std::move(graph)));
}

struct Repeated {
  std::string_view name;
  std::shared_ptr<graph::Model> (*model)();
  Dims input;
};
class EveryModel : public ::testing::TestWithParam<Repeated> {};

TEST_P(EveryModel, DoesNotAllocateInARepeatedRun) {
  const auto model = GetParam().model();
  ThreadPool pool(2);
  const auto own = ops::Memory::make();
  const auto program = build(*model, own, pool);
  ASSERT_TRUE(program.ok()) << program.error().text();
  Context context(**program, own, pool);
  const Datum input(floats(GetParam().input));
  const std::span<const Datum> inputs(&input, 1);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(context.run(inputs).ok());
  const std::int64_t used = own->used(), before = allocations;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(context.run(inputs).ok());
  // Under a sanitizer blocks are never reused.
  EXPECT_EQ(kPoisons ? 0 : allocations - before, 0);
  EXPECT_EQ(own->used(), used);
  ASSERT_NE(context.plan(), nullptr);
  EXPECT_GT(context.plan()->arena, 0);
  EXPECT_LE(context.plan()->arena * 4, context.plan()->live * 5);
}

INSTANTIATE_TEST_SUITE_P(
    Executor, EveryModel,
    ::testing::Values(
        Repeated{"chain", chain, {64, 4}}, Repeated{"matmuls", matmuls, {1, 4, 8, 8}},
        Repeated{"int8", [] { return quantized<std::int8_t>(ElementType::int8); }, {1, 4, 8, 8}},
        Repeated{"int16", [] { return quantized<std::int16_t>(ElementType::int16); }, {1, 4, 8, 8}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Executor, ManyThreadsMayRunItAtOnce) {
  const auto executor = executor_of(chain());
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 16; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 20; ++round) {
        const auto first = static_cast<float>(t);
        const auto outputs = executor->run({{"x", Datum(floats({1 + (t + round) % 3, 4}, first))}});
        const auto got = outputs.ok() ? contents((*outputs)[0]) : std::vector<float>{-1};
        for (std::size_t i = 0; i < got.size(); ++i)
          wrong += got[i] != expected(first + static_cast<float>(i));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Executor, ExplainsAWrongInputAndStaysUsable) {
  const auto executor = executor_of(chain());
  const auto text = [&](const std::map<std::string, Datum>& inputs) {
    const auto outputs = executor->run(inputs);
    return outputs.ok() ? std::string("fine") : outputs.error().text();
  };
  EXPECT_THAT(text({{"X", Datum(floats({2, 4}))}}), HasSubstr("no input 'X'"));
  EXPECT_THAT(text({}), HasSubstr("input 'x': nothing is given"));
  EXPECT_THAT(text({{"x", Datum(floats({2, 3}))}}), HasSubstr("shape [2, 3] is given"));
  Array whole = Array::make(*memory, ElementType::int64, {2, 4}).value();
  EXPECT_THAT(text({{"x", Datum(whole)}}), HasSubstr("the model takes float32"));
  EXPECT_EQ(text({{"x", Datum(floats({2, 4}))}}), "fine");
}

TEST(Executor, AcceptsSequencesOfAnyLengthWithTheRightElementType) {
  auto model = chain();
  graph::ValueInfo many = value("s", {"2"});
  many.type = graph::Type(graph::SequenceType{*many.type, {}});
  model->graph->inputs.push_back(many);
  model->graph->nodes.push_back(node("SequenceLength", {"s"}, {"count"}));
  model->graph->outputs.push_back(value("count", {}, ElementType::int64));
  const auto executor = executor_of(model);
  const auto text = [&](const Datum& given) {
    const auto outputs = executor->run({{"x", Datum(floats({1, 4}))}, {"s", given}});
    return outputs.ok() ? std::to_string(*(*outputs)[1].array.data<std::int64_t>()) : outputs.error().text();
  };
  const auto sequence = [](std::vector<Datum> items) {
    auto made = std::make_shared<ops::Sequence>();
    made->items = std::move(items);
    return Datum(std::shared_ptr<const ops::Sequence>(made));
  };
  EXPECT_EQ(text(sequence({})), "0");
  EXPECT_EQ(text(sequence({Datum(floats({2})), Datum(floats({2}))})), "2");
  EXPECT_THAT(text(sequence({Datum(floats({2})), Datum(floats({3}))})),
              HasSubstr("input 's': item 1: shape [3] is given"));
  EXPECT_THAT(text(Datum(floats({2}))), HasSubstr("input 's': float32[2] is given"));
}

TEST(Executor, NamesTheFailingNodeAndItsInputs) {
  auto model = chain();
  model->graph->inputs.push_back(value("z", {"m"}));
  model->graph->nodes.push_back(node("Add", {"a", "z"}, {"other"}));
  model->graph->outputs.push_back(value("other", {"", ""}));
  const auto outputs = executor_of(model)->run({{"x", Datum(floats({2, 4}))}, {"z", Datum(floats({3}))}});
  ASSERT_FALSE(outputs.ok());
  EXPECT_THAT(outputs.error().text(), HasSubstr("node 5 (Add): "));
  EXPECT_THAT(outputs.error().text(), HasSubstr("given are 'a' float32[2, 4], 'z' float32[3]"));
}

TEST(Executor, StopsAtTheMemoryLimitAndNamesTheNode) {
  const auto executor = executor_of(chain(), {.threads = 1, .max_memory = 100'000, .fuse = false});
  const auto outputs = executor->run({{"x", Datum(floats({5000, 4}))}});
  ASSERT_FALSE(outputs.ok());
  EXPECT_EQ(outputs.error().code, Code::limit_exceeded);
  EXPECT_THAT(outputs.error().text(), HasSubstr("(Mul): output 'b' float32[5000, 4]: "));
  EXPECT_TRUE(executor->run({{"x", Datum(floats({10, 4}))}}).ok());
}

TEST(Executor, PackedWeightsCountAgainstTheMemoryLimit) {
  auto model = std::make_shared<graph::Model>(*chain());
  graph::Tensor weight;
  weight.name = graph::Text("w");
  weight.element = static_cast<std::int32_t>(ElementType::float32);
  weight.dims = {4, 50'000};
  weight.data = Bytes::own(std::vector<float>(200'000, 1.0f));
  model->graph->initializers.push_back(std::move(weight));
  graph::Node& last = model->graph->nodes.back();
  last.op_type = graph::Text("MatMul");
  last.inputs = {last.inputs[0], "w"};
  last.attributes.clear();
  model->graph->outputs[0].type = {};
  const auto made = Executor::make(model, {.threads = 1, .max_memory = 500'000});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::limit_exceeded);
  EXPECT_THAT(made.error().text(), HasSubstr("(MatMul)"));
  EXPECT_TRUE(Executor::make(model, {.threads = 1, .max_memory = 2'000'000}).ok());
}

TEST(Executor, RejectsUnknownOperators) {
  auto model = chain();
  model->graph->nodes[0].op_type = graph::Text("Addd");
  const auto made = Executor::make(model);
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, Code::unsupported);
  EXPECT_THAT(made.error().text(), HasSubstr("node 0 (Addd)"));
  EXPECT_THAT(made.error().hint, HasSubstr("Add"));
}

TEST(Executor, ANodesErrorsNameItAndTheExecutorStaysUsable) {
  auto model = chain();
  model->graph->inputs.push_back(value("z", {"m"}));
  model->graph->nodes[1].inputs[1] = "z";
  const auto executor = executor_of(model);
  const auto outputs = executor->run({{"x", Datum(floats({2, 4}))}, {"z", Datum(floats({3}))}});
  ASSERT_FALSE(outputs.ok());
  EXPECT_THAT(outputs.error().text(), HasSubstr("node 1 (Mul): shapes [2, 4] and [3] do not fit"));
  EXPECT_TRUE(executor->run({{"x", Datum(floats({2, 4}))}, {"z", Datum(floats({4}))}}).ok());
}

}  // namespace
}  // namespace anybit::runtime
