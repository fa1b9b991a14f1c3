#include "ops/infer.hpp"

#include <gtest/gtest.h>

#include "unit/ops/graphs.hpp"

namespace anybit::ops {
namespace {

using namespace testing;
using Ints = std::vector<std::int64_t>;

Inference inferred(const graph::Model& model, const InferOptions& options = {}) {
  auto result = infer(model, options);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().text());
  return std::move(result).value();
}

TEST(Inference, ComputesTheShapeThatAModelComputes) {
  graph::Graph graph;
  graph.inputs = {value("x", {"n", "3", "8", "8"})};
  graph.initializers = {int64s("zero", {0}), int64s("rest", {-1})};
  graph.nodes = {node("Shape", {"x"}, {"shape"}), node("Gather", {"shape", "zero"}, {"batch"}),
                 node("Concat", {"batch", "rest"}, {"target"}, {attribute("axis", std::int64_t{0})}),
                 node("Reshape", {"x", "target"}, {"y"})};
  const auto m = model(graph);
  EXPECT_EQ(type_of(inferred(m), "y"), "float32[n, 192]");
}

TEST(Inference, CountsARangeBeyondWhatFloat64Holds) {
  const auto range = [](std::int64_t start, std::int64_t limit, std::int64_t delta) {
    graph::Graph graph;
    graph.initializers = {int64s("start", {start}), int64s("limit", {limit}), int64s("delta", {delta})};
    graph.nodes = {node("Range", {"start", "limit", "delta"}, {"y"})};
    const auto m = model(graph);
    return type_of(inferred(m), "y");
  };
  EXPECT_EQ(range(INT64_MAX - 3, INT64_MAX, 1), "int64[3]");
  EXPECT_EQ(range((std::int64_t{1} << 53) + 1, (std::int64_t{1} << 53) + 4, 1), "int64[3]");
  EXPECT_EQ(range(INT64_MIN, INT64_MAX, std::int64_t{1} << 62), "int64[4]");
  EXPECT_EQ(range(3, -2, -2), "int64[3]");
  EXPECT_EQ(range(0, INT64_MAX, 1), fmt::format("int64[{}]", INT64_MAX));
}

TEST(Inference, ReplacesASymbolWhereverItOccurs) {
  graph::Graph graph;
  graph.inputs = {value("a", {"n", "4"}), value("b", {"n", "4"})};
  graph.nodes = {node("Add", {"a", "b"}, {"y"})};
  const auto m = model(graph);
  EXPECT_EQ(type_of(inferred(m, {{}, {{"n", 7}}}), "y"), "float32[7, 4]");
  EXPECT_EQ(type_of(inferred(m, {{{"a", {5, 4}}}, {}}), "y"), "float32[5, 4]");
}

TEST(Inference, RejectsShapesThatContradictTheModel) {
  graph::Graph graph;
  graph.inputs = {value("input", {"batch", "4"})};
  const auto m = model(graph);
  const auto error = [&](InferOptions options) {
    const auto result = infer(m, options);
    return result.ok() ? "accepted" : result.error().text();
  };
  EXPECT_EQ(error({{{"imput", {1, 4}}}, {}}),
            "the model has no input 'imput'\n  hint: did you mean 'input'?");
  EXPECT_NE(error({{{"input", {1, 4, 1}}}, {}}).find("has 3 dimensions"), std::string::npos);
  EXPECT_NE(error({{{"input", {1, 5}}}, {}}).find("is 4, not 5"), std::string::npos);
  EXPECT_NE(error({{}, {{"bach", 2}}}).find("did you mean 'batch'"), std::string::npos);
  EXPECT_NE(error({{{"input", {1, 4}}}, {{"batch", 2}}}).find("given as 2 and as 1"), std::string::npos);
}

TEST(Inference, ReportsAnInvalidNodeAndGoesOn) {
  graph::Graph graph;
  graph.inputs = {value("a", {"2", "3"}), value("b", {"4", "5"})};
  graph.nodes = {node("MatMul", {"a", "b"}, {"y"}), node("Relu", {"a"}, {"z"})};
  const auto m = model(graph);
  const Inference inference = inferred(m);
  ASSERT_EQ(inference.problems.size(), 1U);
  EXPECT_NE(inference.problems[0].text().find("[2, 3] and [4, 5] do not multiply"), std::string::npos);
  EXPECT_EQ(type_of(inference, "z"), "float32[2, 3]");
}

TEST(Inference, ReportsAnOperatorThatTheOpsetDoesNotHaveYet) {
  graph::Graph graph;
  graph.inputs = {value("a", {"2"})};
  graph.nodes = {node("Gelu", {"a"}, {"y"})};
  const auto m = model(graph, 19);
  const Inference inference = inferred(m);
  ASSERT_EQ(inference.problems.size(), 1U);
  EXPECT_EQ(inference.problems[0].hint, "it came with opset 20");
}

graph::Graph branch(std::int64_t columns) {
  graph::Graph graph;
  graph.initializers = {floats("w", {4, columns})};
  graph.nodes = {node("MatMul", {"x", "w"}, {"out"})};
  graph.outputs.emplace_back().name = "out";
  return graph;
}

graph::Model two_branches(std::vector<graph::Tensor> constants, std::vector<graph::ValueInfo> more) {
  graph::Graph graph;
  graph.inputs = {value("x", {"3", "4"})};
  graph.inputs.insert(graph.inputs.end(), more.begin(), more.end());
  graph.initializers = std::move(constants);
  graph.nodes = {node("If", {"condition"}, {"y"},
                      {attribute("then_branch", graph::GraphBox(branch(5))),
                       attribute("else_branch", graph::GraphBox(branch(6)))})};
  return model(graph);
}

std::int64_t work(const Inference& inference) {
  std::int64_t sum = 0;
  for (const NodeFacts& facts : inference.nodes) sum += (facts.macs * facts.runs).size.value_or(0);
  return sum;
}

TEST(Inference, CountsTheCostlierBranch) {
  const auto m = two_branches({}, {value("condition", {}, ElementType::boolean)});
  const Inference inference = inferred(m);
  EXPECT_EQ(type_of(inference, "y"), "float32[3, ?]");
  EXPECT_EQ(work(inference), 3 * 4 * 6);
}

TEST(Inference, FollowsAKnownCondition) {
  graph::Tensor condition;
  condition.name = graph::Text("condition");
  condition.element = static_cast<std::int32_t>(ElementType::boolean);
  condition.data = Bytes::own(std::vector<std::uint8_t>{1});
  const auto m = two_branches({condition}, {});
  const Inference inference = inferred(m);
  EXPECT_EQ(type_of(inference, "y"), "float32[3, 5]");
  EXPECT_EQ(work(inference), 3 * 4 * 5);
  ASSERT_EQ(inference.graphs.size(), 3U);
  EXPECT_FALSE(inference.graphs[1].ruled_out);
  EXPECT_TRUE(inference.graphs[2].ruled_out);
}

TEST(Inference, UsesValueInfoWhereNothingIsInferredUnlessDisabled) {
  graph::Graph graph;
  graph.inputs = {value("x", {"8"})};
  graph.value_info = {value("y", {"1", "2"}, ElementType::int64)};
  graph.nodes = {node("NonZero", {"x"}, {"y"})};
  const auto m = model(graph);
  EXPECT_EQ(type_of(inferred(m), "y"), "int64[1, 2]");
  InferOptions options;
  options.value_info = false;
  EXPECT_NE(type_of(inferred(m, options), "y"), "int64[1, 2]");
}

TEST(Inference, AnInvalidNodeHasItsErrorWithItsLocation) {
  graph::Graph graph;
  graph.inputs = {value("x", {"3", "4"})};
  graph.nodes = {node("MatMul", {"x", "x"}, {"y"})};
  graph.nodes[0].name = graph::Text("matmul");
  const auto m = model(graph);
  const Inference inference = inferred(m);
  ASSERT_TRUE(inference.nodes[0].error);
  EXPECT_EQ(inference.nodes[0].error->place, "node 'matmul' (MatMul)");
  EXPECT_EQ(inference.nodes[0].error->message, inference.nodes[0].problem);
  EXPECT_EQ(inference.problems.size(), 1U);
}

TEST(Inference, MultipliesTheWorkOfALoop) {
  graph::Graph body;
  body.inputs = {value("i", {}, ElementType::int64), value("go", {}, ElementType::boolean),
                 value("state", {"3", "4"})};
  body.initializers = {floats("w", {4, 4})};
  body.nodes = {node("Identity", {"go"}, {"go_on"}), node("MatMul", {"state", "w"}, {"next"}),
                node("ReduceSum", {"next"}, {"sum"}, {attribute("keepdims", std::int64_t{0})})};
  for (const char* name : {"go_on", "next", "sum"}) {
    body.outputs.emplace_back().name = name;
  }
  graph::Graph graph;
  graph.inputs = {value("x", {"3", "4"})};
  graph.initializers = {int64s("trips", {10})};
  graph.nodes = {
      node("Loop", {"trips", "", "x"}, {"last", "sums"}, {attribute("body", graph::GraphBox(body))})};
  const auto m = model(graph);
  const Inference inference = inferred(m);
  EXPECT_EQ(type_of(inference, "last"), "float32[3, 4]");
  EXPECT_EQ(type_of(inference, "sums"), "float32[10]");
  EXPECT_EQ(work(inference), 10 * 3 * 4 * 4);
  ASSERT_EQ(inference.graphs[1].inputs.size(), 3U);  // although the first is unused
  EXPECT_EQ(inference.graphs[1].inputs[0]->type, ElementType::int64);
  EXPECT_EQ(inference.graphs[1].inputs[2]->type, ElementType::float32);
}

TEST(Inference, ExpandsFunctionsWithTheAttributesOfTheCall) {
  graph::Function function;
  function.domain = graph::Text("local");
  function.name = graph::Text("Head");
  function.inputs = {"a", "b"};
  function.outputs = {"c"};
  function.attributes = {"which"};
  graph::OpsetImport import;
  import.version = 21;
  function.opsets = {import};
  graph::Attribute axis = attribute("axis", std::monostate());
  axis.reference = graph::Text("which");
  function.nodes = {node("MatMul", {"a", "b"}, {"t"}), node("Concat", {"t", "t"}, {"c"}, {axis})};
  graph::Graph graph;
  graph.inputs = {value("x", {"2", "3"}), value("w", {"3", "5"})};
  graph.nodes = {node("Head", {"x", "w"}, {"y"}, {attribute("which", std::int64_t{1})}, "local")};
  auto m = model(graph);
  m.functions.push_back(function);
  const Inference inference = inferred(m);
  EXPECT_EQ(type_of(inference, "y"), "float32[2, 10]");
  ASSERT_EQ(inference.nodes.size(), 1U);
  EXPECT_EQ(inference.nodes[0].macs.size, 2 * 3 * 5);
}

// Each function calls the next one twice: 2^60 nodes, if they were all visited.
TEST(Inference, TerminatesOnNestedFunctionCalls) {
  graph::Graph graph;
  graph.inputs = {value("x", {"2"})};
  graph.nodes = {node("f0", {"x"}, {"y"}, {}, "local")};
  auto m = model(graph);
  for (int i = 0; i < 60; ++i) {
    graph::Function function;
    function.domain = graph::Text("local");
    function.name = graph::Text("f" + std::to_string(i));
    function.inputs = {"a"};
    function.outputs = {"c"};
    const std::string next = i == 59 ? "Relu" : "f" + std::to_string(i + 1);
    const std::string domain = i == 59 ? "" : "local";
    function.nodes = {node(next, {"a"}, {"b"}, {}, domain), node(next, {"b"}, {"c"}, {}, domain)};
    graph::OpsetImport import;
    import.version = 21;
    function.opsets = {import};
    m.functions.push_back(function);
  }
  const auto inferred = infer(m);
  ASSERT_FALSE(inferred.ok());
  EXPECT_EQ(inferred.error().code, Code::limit_exceeded);
}

}  // namespace
}  // namespace anybit::ops
