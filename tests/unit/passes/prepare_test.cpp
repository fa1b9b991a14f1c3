#include "passes/prepare.hpp"
#include "graph/constant.hpp"
#include "graph/names.hpp"
#include "graph/node.hpp"
#include "graph/rewrite.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "graph/verify.hpp"
#include "passes/recognise.hpp"
#include "unit/ops/graphs.hpp"

namespace anybit::passes {
namespace {

using ops::testing::attribute;
using ops::testing::node;
using ops::testing::value;
using ::testing::ElementsAre;

std::vector<std::string> operators(const graph::Graph& graph) {
  std::vector<std::string> list;
  for (const graph::Node& one : graph.nodes) list.push_back(one.op_type.str());
  return list;
}

std::int64_t changes(const std::vector<PassResult>& results, std::string_view name) {
  const auto found = std::ranges::find(results, name, &PassResult::name);
  return found == results.end() ? -1 : found->changes;
}

graph::Model model_of(std::vector<graph::Node> nodes, std::vector<graph::Tensor> constants = {},
                      std::int64_t opset = 17) {
  graph::Graph graph;
  graph.name = graph::Text("g");
  graph.inputs = {value("x", {"n", "4"})};
  graph.outputs = {value("y", {"n", "4"})};
  graph.nodes = std::move(nodes);
  graph.initializers = std::move(constants);
  return ops::testing::model(std::move(graph), opset);
}

std::vector<PassResult> prepared(graph::Model& model, const PrepareOptions& options = {}) {
  auto results = prepare(model, options);
  EXPECT_TRUE(results.ok()) << (results.ok() ? "" : results.error().text());
  return results.ok() ? *results : std::vector<PassResult>();
}

TEST(PassTable, EveryRowIsAPassOrAPatternWithAUniqueOrder) {
  std::set<int> orders;
  std::set<std::string_view> names;
  for (const Descriptor* one : table()) {
    EXPECT_NE(one->run == nullptr, one->match == nullptr) << one->name;
    EXPECT_TRUE(orders.insert(one->order).second) << one->name << ": duplicate order";
    EXPECT_TRUE(names.insert(one->name).second) << one->name;
    EXPECT_FALSE(one->summary.empty()) << one->name;
  }
}

TEST(PassTable, IsDescribedInTheDocument) {
  std::ifstream file(ANYBIT_SOURCE "/docs/preparation.md");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  for (const Descriptor* one : table())
    EXPECT_NE(text.find("`" + std::string(one->name) + "`"), std::string::npos) << one->name;
}

TEST(Prepare, ANodeWithoutANameIsNamedAfterOperatorAndIndex) {
  auto model =
      model_of({node("Relu", {"x"}, {"a"}), node("Sigmoid", {"a"}, {"b"}), node("Tanh", {"b"}, {"y"})});
  model.graph->nodes[0].name = graph::Text("Tanh_2");
  model.graph->nodes[1].name = graph::Text("Tanh_2");
  prepared(model);
  EXPECT_EQ(model.graph->nodes[0].name.str(), "Tanh_2");
  EXPECT_EQ(model.graph->nodes[1].name.str(), "Tanh_2_2");
  EXPECT_EQ(model.graph->nodes[2].name.str(), "Tanh_2_3");
}

TEST(Prepare, ASecondRunChangesNothing) {
  auto model = model_of({node("Identity", {"x"}, {"a"}), node("MatMul", {"a", "w"}, {"b"}),
                         node("Add", {"b", "bias"}, {"c"}), node("Dropout", {"c"}, {"y"})},
                        {ops::testing::floats("w", {4, 4}), ops::testing::floats("bias", {4}),
                         ops::testing::floats("unused", {3})});
  const auto first = prepared(model);
  EXPECT_EQ(changes(first, "remove_no_ops"), 2);
  EXPECT_EQ(changes(first, "matmul_add"), 1);
  EXPECT_EQ(changes(first, "remove_unused"), 1);
  EXPECT_THAT(operators(*model.graph), ElementsAre("Gemm"));
  EXPECT_EQ(model.graph->nodes[0].outputs[0], "y");
  for (const PassResult& one : prepared(model)) EXPECT_EQ(one.changes, 0) << one.name;
}

TEST(Prepare, NodesNamedByARuleAreKept) {
  auto model = model_of({node("Identity", {"x"}, {"a"}), node("Relu", {"a"}, {"y"})});
  model.graph->nodes[0].name = graph::Text("/kept");
  PrepareOptions options;
  options.keep = {"/kept"};
  prepared(model, options);
  EXPECT_THAT(operators(*model.graph), ElementsAre("Identity", "Relu"));
}

TEST(Prepare, OnlySelectedPassesAndTheirPrerequisitesRun) {
  auto model = model_of({node("Identity", {"x"}, {"a"}), node("Relu", {"a"}, {"y"})},
                        {ops::testing::floats("unused", {3})});
  PrepareOptions options;
  options.only = {"remove_no_ops"};
  const auto results = prepared(model, options);
  EXPECT_EQ(changes(results, "remove_unused"), -1);
  EXPECT_EQ(changes(results, "unique_names"), 2);  // two nodes had no name
  EXPECT_EQ(model.graph->initializers.size(), 1u);
}

TEST(Prepare, MetadataDocAndPortsAreKept) {
  auto model = model_of({node("Identity", {"x"}, {"a"}), node("Relu", {"a"}, {"y"})});
  model.metadata.push_back({graph::Text("author"), graph::Text("somebody"), {}});
  model.graph->doc = graph::Text("about");
  prepared(model);
  EXPECT_EQ(model.metadata.size(), 1u);
  EXPECT_EQ(model.graph->doc.str(), "about");
  EXPECT_EQ(model.graph->inputs[0].name.str(), "x");
  EXPECT_EQ(model.graph->outputs[0].name.str(), "y");
}

TEST(Prepare, NodesWithTooFewInputsOrOutputsDoNotCrash) {
  std::vector<graph::Node> nodes;
  for (const char* op :
       {"Identity", "Dropout",       "Cast",  "Reshape", "Transpose",  "Pad", "Slice",
        "Tile",     "Concat",        "Split", "Mul",     "Sub",        "Div", "BatchNormalization",
        "Conv",     "ConvTranspose", "Gemm",  "MatMul",  "Add",        "If",  "Shape",
        "Constant", "Erf",           "Sqrt",  "Softmax", "ReduceMean", "Pow", "Exp",
        "Clip"}) {
    nodes.push_back(node(op, {}, {}));
    nodes.push_back(node(op, {}, {std::string(op) + "_out"}));
    nodes.push_back(node(op, {""}, {std::string(op) + "_second", ""}));
    nodes.push_back(node(op, {"x"}, {}));
  }
  nodes.push_back(node("Relu", {"x"}, {"y"}));
  auto model = model_of(std::move(nodes));
  (void)recognise(*model.graph);
  (void)prepare(model, {});  // an error, or a model without these nodes; never a crash
}

TEST(Recognise, AGroupHasOneOutputAndNoOtherConsumers) {
  auto silu = [](bool leaks) {
    graph::Graph graph;
    graph.inputs = {value("x", {"4"})};
    graph.outputs = {value("y", {"4"})};
    if (leaks) graph.outputs.push_back(value("s", {"4"}));
    graph.nodes = {node("Relu", {"x"}, {"r"}), node("Sigmoid", {"r"}, {"s"}), node("Mul", {"s", "r"}, {"y"})};
    return graph;
  };
  const auto groups = recognise(silu(false));
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].kind, "silu");
  EXPECT_THAT(groups[0].nodes, ElementsAre(1, 2));
  EXPECT_THAT(groups[0].inputs, ElementsAre("r"));
  EXPECT_EQ(groups[0].output, "y");
  EXPECT_TRUE(recognise(silu(true)).empty());
}

TEST(Recognise, ASubgraphSeesConstantsOfTheEnclosingGraph) {
  graph::Graph inner;
  inner.outputs = {value("t", {"n", "4"})};
  inner.nodes = {node("MatMul", {"x", "w"}, {"m"}), node("Add", {"m", "b"}, {"t"})};
  const auto model = model_of({node("If", {"c"}, {"y"}, {attribute("then_branch", graph::GraphBox(inner))})},
                              {ops::testing::floats("w", {4, 4}), ops::testing::floats("b", {4})});
  EXPECT_TRUE(recognise(inner).empty());
  const graph::Constants constants(model);
  const auto groups = recognise(inner, &constants);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].kind, "linear");
  EXPECT_THAT(groups[0].inputs, ElementsAre("x"));
}

TEST(Names, AFreshNameIsTheRequestedOneOrHasANumberAppended) {
  const auto model = model_of({node("Relu", {"x"}, {"y"})});
  graph::Names names(model);
  EXPECT_EQ(names.fresh("z"), "z");
  EXPECT_EQ(names.fresh("z"), "z_2");
  EXPECT_EQ(names.fresh("x"), "x_2");
}

TEST(Renames, AreAppliedThroughChainsAndInSubgraphs) {
  graph::Graph inner;
  inner.outputs = {value("b", {"4"})};
  auto model = model_of({node("Relu", {"b"}, {"y"}, {attribute("body", graph::GraphBox(inner))})});
  graph::Renames renames;
  renames.add("b", "a");
  renames.add("a", "x");
  renames.apply(*model.graph);
  EXPECT_EQ(model.graph->nodes[0].inputs[0], "x");
  const auto& box = std::get<graph::GraphBox>(model.graph->nodes[0].attributes[0].value);
  EXPECT_EQ(box->outputs[0].name.str(), "x");
}

}  // namespace
}  // namespace anybit::passes
