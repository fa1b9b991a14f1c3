// Rules for graphs and nodes: names, order, scopes, agreement of types.
#include <gtest/gtest.h>

#include "unit/graph/sample_models.hpp"

namespace anybit::graph {
namespace {

using namespace testing;

TEST(VerifyGraph, InputsHaveDifferentNames) {
  Model model = small_model();
  model.graph->inputs.push_back(value("x", {1, 2}));
  expect_invalid(model, "graph 'main' > input 'x'", "defined already");
  model.graph->inputs[1].name = "";
  expect_invalid(model, "graph 'main' > input 1", "no name");
}

TEST(VerifyGraph, AnInitializerMayBeTheDefaultOfAnInputButNotOfAnotherInitializer) {
  Model model = small_model();
  model.graph->inputs.push_back(value("w", {2}));
  expect_sound(model);
  model.graph->initializers.push_back(floats("w", {2}, {3, 4}));
  expect_invalid(model, "graph 'main' > initializer 'w'", "defined already");
  model.graph->initializers[1].name = "";
  expect_invalid(model, "graph 'main' > initializer 1", "no name");
}

TEST(VerifyGraph, OldModelsMayHaveInitializersThatAreNotInputs) {
  Model model = small_model();
  model.ir_version = 3;
  expect_sound(model);
}

TEST(VerifyGraph, AValueIsProducedOnce) {
  Model model = small_model();
  model.graph->nodes[1].outputs = {"h"};
  expect_invalid(model, "graph 'main' > node '/add' (Add)", "output 0 'h' is defined already");
  model.graph->nodes[1].outputs = {"y", "x"};
  expect_invalid(model, "graph 'main' > node '/add' (Add)", "output 1 'x' is defined already");
  model.graph->nodes[1].outputs = {"y", "w"};
  expect_invalid(model, "graph 'main' > node '/add' (Add)", "output 1 'w' is defined already");
}

TEST(VerifyGraph, NodesHaveDifferentNamesOrNone) {
  Model model = small_model();
  model.graph->nodes[1].name = "/relu";
  expect_invalid(model, "graph 'main' > node '/relu' (Add)", "same name");
  model.graph->nodes[0].name = model.graph->nodes[1].name = "";
  expect_sound(model);
}

TEST(VerifyGraph, ANodeHasAnOperator) {
  Model model = small_model();
  model.graph->nodes[0].op_type = "";
  expect_invalid(model, "graph 'main' > node '/relu' ()", "no operator");
}

TEST(VerifyGraph, EmptyNamesStandForOptionalInputsAndOutputs) {
  Model model = small_model();
  model.graph->nodes[0].inputs = {"x", "", ""};
  model.graph->nodes[0].outputs = {"h", "", ""};
  expect_sound(model);
}

TEST(VerifyGraph, AMisspeltInputIsExplained) {
  Model model = small_model();
  model.graph->nodes[0].outputs = {"hidden"};
  model.graph->nodes[1].inputs = {"hiden", "w"};
  expect_invalid(model, "graph 'main' > node '/add' (Add)", "nothing produces input 0 'hiden'", "'hidden'");
}

TEST(VerifyGraph, AnInputThatIsProducedLaterIsExplained) {
  Model model = small_model();
  std::swap(model.graph->nodes[0], model.graph->nodes[1]);
  expect_invalid(model, "graph 'main' > node '/add' (Add)",
                 "input 0 'h' is produced later, by node '/relu' (Relu)", "sort the nodes");
}

TEST(VerifyGraph, CyclesAreExplained) {
  Model model = small_model();
  model.graph->nodes[0].inputs = {"y"};
  expect_invalid(model, "graph 'main' > node '/relu' (Relu)",
                 "input 0 'y' is produced by node '/add' (Add), which depends on this node: a cycle");
  model.graph->nodes[0].inputs = {"h"};
  expect_invalid(model, "graph 'main' > node '/relu' (Relu)",
                 "an output of node '/relu' (Relu) itself: a cycle");
}

TEST(VerifyGraph, OutputsAreProduced) {
  Model model = small_model();
  model.graph->outputs.push_back(value("nothing"));
  expect_invalid(model, "graph 'main' > output 'nothing'", "nothing produces it");
  model.graph->outputs[1].name = "";
  expect_invalid(model, "graph 'main' > output 1", "no name");
  model.graph->outputs[1] = value("x");
  expect_sound(model);
}

TEST(VerifyGraph, InnerGraphsSeeEarlierValues) {
  expect_sound(model_with_branch(branch("h", "t")));
  expect_invalid(model_with_branch(branch("z", "t")),
                 "graph 'main' > node '/if' (If) > then_branch > node '/neg' (Neg)",
                 "input 0 'z' is an output of node '/if' (If) itself: a cycle");
  Model model = model_with_branch(branch("later", "t"));
  model.graph->nodes.push_back(node("Relu", {"x"}, {"later"}, "/later"));
  expect_invalid(model, "graph 'main' > node '/if' (If) > then_branch > node '/neg' (Neg)",
                 "produced later, by node '/later' (Relu)");
}

TEST(VerifyGraph, OuterGraphsDoNotSeeInnerNames) {
  Model model = model_with_branch(branch("h", "t"));
  model.graph->nodes.push_back(node("Relu", {"t"}, {"q"}, "/after"));
  expect_invalid(model, "graph 'main' > node '/after' (Relu)", "nothing produces input 0 't'");
  model.graph->nodes.back() = node("Relu", {"x"}, {"t"}, "/after");  // and the name is unused again
  expect_sound(model);
}

TEST(VerifyGraph, InnerNamesDoNotShadowOuterOnes) {
  expect_invalid(model_with_branch(branch("x", "h")),
                 "graph 'main' > node '/if' (If) > then_branch > node '/neg' (Neg)",
                 "output 0 'h' is defined already");
  Graph inner = branch("x", "t");
  inner.inputs = {value("h")};
  expect_invalid(model_with_branch(inner), "graph 'main' > node '/if' (If) > then_branch > input 'h'",
                 "defined already");
  inner = branch("x", "t");
  inner.initializers = {floats("h", {}, {1})};
  expect_invalid(model_with_branch(inner), "graph 'main' > node '/if' (If) > then_branch > initializer 'h'",
                 "defined already");
}

TEST(VerifyGraph, SiblingsMayUseTheSameNames) { expect_sound(model_with_branch(branch("h", "e"))); }

TEST(VerifyGraph, InnerInputsNeedNoTypesButTheModelsDo) {
  Graph inner = branch("i", "t");
  inner.inputs = {value("i")};
  expect_sound(model_with_branch(inner));
  Model model = small_model();
  model.graph->inputs[0].type.reset();
  expect_invalid(model, "graph 'main' > input 'x'", "no type");
  model.graph->inputs[0].type = Type{};
  expect_invalid(model, "graph 'main' > input 'x'", "type is not set");
  model.graph->inputs[0].type = tensor_type(ElementType::undefined, {1});
  expect_invalid(model, "graph 'main' > input 'x'", "element type is not set");
}

TEST(VerifyGraph, NestedGraphsAreLimited) {
  const auto nested = [](int count) {
    Graph graph = branch("x", "t0");
    for (int i = 1; i < count; ++i) {
      Node outer = node("If", {"x"}, {"t" + std::to_string(i)});
      outer.attributes = {graph_attribute("then_branch", std::move(graph))};
      graph = Graph();
      graph.nodes.push_back(std::move(outer));
    }
    Model model = small_model();
    graph.inputs = model.graph->inputs;
    model.graph = std::move(graph);
    return model;
  };
  expect_sound(nested(64));
  const auto result = verify(nested(65));
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::limit_exceeded);
  EXPECT_THAT(result.error().message, ::testing::HasSubstr("more than 64 levels of nested graphs"));
}

TEST(VerifyGraph, TypesDeclaredForOneValueAgree) {
  Model model = small_model();
  model.graph->value_info = {value("x", {1, 3})};
  expect_invalid(model, "graph 'main' > value_info 'x'",
                 "'x' is float32[1, 3] here, but float32[1, 2] elsewhere");
  model.graph->value_info = {value("x", {1, 2, 1})};
  expect_invalid(model, "graph 'main' > value_info 'x'", "float32[1, 2, 1]");
  model.graph->value_info = {value("x", tensor_type(ElementType::int8, {1, 2}))};
  expect_invalid(model, "graph 'main' > value_info 'x'", "int8[1, 2]");
  model.graph->value_info = {value("x", Type(SequenceType{}))};
  expect_invalid(model, "graph 'main' > value_info 'x'", "seq(");
  model.graph->value_info = {value("x", Type{}), value("y", tensor_type(ElementType::undefined, {1, 2}))};
  expect_sound(model);
}

TEST(VerifyGraph, UnknownDimensionsAgreeWithAll) {
  Model model = small_model();
  Type open = tensor_type(ElementType::float32, {1, 2});
  std::get<TensorType>(open.kind).shape->dims[0].value = std::string("batch");
  std::get<TensorType>(open.kind).shape->dims[1].value = std::monostate();
  model.graph->value_info = {value("h", open), value("h", {4, 5}), value("x", open)};
  expect_sound(model);
  model.graph->value_info.push_back(value("h", {4, 6}));  // does not agree with the second
  expect_invalid(model, "graph 'main' > value_info 'h'", "[4, 6]");
}

TEST(VerifyGraph, InitializersAgreeWithTheirInputs) {
  Model model = small_model();
  model.graph->inputs.push_back(value("w", {3}));
  expect_invalid(model, "graph 'main' > initializer 'w'", "'w' is float32[2] here, but float32[3]");
}

TEST(VerifyGraph, ValueInfoMayNameUnknownValues) {
  Model model = small_model();
  model.graph->value_info = {value("gone", {7}), value("", {7})};
  expect_sound(model);
}

TEST(VerifyGraph, QuantizationAnnotationsNameTensors) {
  Model model = small_model();
  model.graph->annotations = {{"h", {property("SCALE_TENSOR", "w")}, {}}};
  expect_sound(model);
  model.graph->annotations[0].parameters[0].value = "nowhere";
  expect_invalid(model, "graph 'main' > quantization annotation 'h'", "'SCALE_TENSOR' is 'nowhere'");
  model.graph->annotations[0].parameters = {property("S", "w"), property("S", "w")};
  expect_invalid(model, "graph 'main' > quantization annotation 'h'", "parameter 'S' is there twice");
  model.graph->annotations[0].tensor = "nowhere";
  expect_invalid(model, "graph 'main' > quantization annotation 'nowhere'", "no such tensor");
}

}  // namespace
}  // namespace anybit::graph
