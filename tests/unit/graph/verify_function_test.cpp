// Rules for functions and attributes.
#include <gtest/gtest.h>

#include "unit/graph/sample_models.hpp"

namespace anybit::graph {
namespace {

using namespace testing;

TEST(VerifyFunction, ACallOfAValidFunctionIsValid) {
  expect_sound(model_with_functions({function("f", "Relu")}));
}

TEST(VerifyFunction, FunctionsDifferInDomainNameOrOverload) {
  expect_invalid(model_with_functions({function("f", "Relu"), function("f", "Neg")}), "function 'dom.f'",
                 "another of the same domain, name and overload");
  Function other = function("f", "Neg");
  other.overload = "other";
  expect_sound(model_with_functions({function("f", "Relu"), other}));
  other.name = "";
  expect_invalid(model_with_functions({other}), "function 0", "no name");
}

TEST(VerifyFunction, FunctionsImportTheirOwnOperators) {
  Function f = function("f", "Relu");
  f.opsets = {opset("dom", 1)};
  expect_invalid(model_with_functions({f}), "function 'dom.f' > node 0 (Relu)", "domain '' is imported");
  f.opsets = {opset("", 0)};
  expect_invalid(model_with_functions({f}), "function 'dom.f' > opset_import 0", "version 0");
}

TEST(VerifyFunction, FunctionsDoNotSeeTheModel) {
  Function f = function("f", "Relu");
  f.nodes[0].inputs = {"x"};
  expect_invalid(model_with_functions({f}), "function 'dom.f' > node 0 (Relu)",
                 "nothing produces input 0 'x'");
}

TEST(VerifyFunction, InputsAndOutputsHaveNamesThatDiffer) {
  Function f = function("f", "Relu");
  f.inputs = {"a", "a"};
  expect_invalid(model_with_functions({f}), "function 'dom.f'", "input 'a' is there twice");
  f.inputs = {"a", ""};
  expect_invalid(model_with_functions({f}), "function 'dom.f'", "input 1 has no name");
  f = function("f", "Relu");
  f.outputs = {"b", "b"};
  expect_invalid(model_with_functions({f}), "function 'dom.f' > output 'b'", "is there twice");
  f.outputs = {"nothing"};
  expect_invalid(model_with_functions({f}), "function 'dom.f' > output 'nothing'", "nothing produces it");
  f.outputs = {""};
  expect_invalid(model_with_functions({f}), "function 'dom.f' > output 0", "no name");
}

TEST(VerifyFunction, CallsHaveNoMoreInputsAndOutputsThanTheFunction) {
  Model model = model_with_functions({function("f", "Relu")});
  model.graph->nodes.back().inputs = {"x", "h"};
  expect_invalid(model, "graph 'main' > node '/call' (f)", "2 inputs, but the function has 1");
  model.graph->nodes.back().inputs = {"x"};
  model.graph->nodes.back().outputs = {"z", "z2"};
  expect_invalid(model, "graph 'main' > node '/call' (f)", "2 outputs, but the function has 1");
}

TEST(VerifyFunction, AFunctionDoesNotCallItself) {
  expect_invalid(model_with_functions({function("f", "f", "dom")}), "function 'dom.f'",
                 "calls itself: dom.f → dom.f");
}

TEST(VerifyFunction, CyclesThroughOtherFunctionsAreShown) {
  expect_invalid(
      model_with_functions({function("f", "g", "dom"), function("g", "h", "dom"), function("h", "g", "dom")}),
      "function 'dom.g'", "calls itself: dom.g → dom.h → dom.g");
}

TEST(VerifyFunction, CyclesThroughInnerGraphsAreFound) {
  Function f = function("f", "Relu");
  Graph inner = branch("a", "t");
  inner.nodes[0].op_type = "f";
  inner.nodes[0].domain = "dom";
  f.nodes[0].attributes = {graph_attribute("body", inner)};
  expect_invalid(model_with_functions({f}), "function 'dom.f'", "calls itself");
  f.nodes[0].attributes = {attribute("bodies", std::vector{GraphBox(inner)}, AttributeKind::graphs)};
  expect_invalid(model_with_functions({f}), "function 'dom.f'", "calls itself");
}

// f0 calls f1 twice, f1 calls f2 twice, …: small on disk, exponential when calls are inlined.
TEST(VerifyFunction, ExpandedCallsAreLimited) {
  const auto doubling = [](int count) {
    std::vector<Function> functions;
    for (int i = 0; i < count; ++i) {
      Function f = function(i == 0 ? "f" : "f" + std::to_string(i), "f" + std::to_string(i + 1), "dom");
      if (i + 1 == count) f = function("f" + std::to_string(i), "Relu");
      f.nodes.push_back(f.nodes[0]);
      f.nodes[1].outputs = {"c"};
      functions.push_back(std::move(f));
    }
    return functions;
  };
  expect_sound(model_with_functions(doubling(10)));
  expect_error(model_with_functions(doubling(60)), Code::limit_exceeded, "function 'dom.f41'",
               "more than 1000000 nodes, with the functions it calls");
}

TEST(VerifyFunction, ChainsOfCallsAreLimited) {
  const auto chain = [](int count) {
    std::vector<Function> functions;
    for (int i = 0; i < count; ++i) {
      const std::string name = i == 0 ? "f" : "f" + std::to_string(i);
      functions.push_back(i + 1 == count ? function(name, "Relu")
                                         : function(name, "f" + std::to_string(i + 1), "dom"));
    }
    return functions;
  };
  expect_sound(model_with_functions(chain(63)));
  expect_error(model_with_functions(chain(64)), Code::limit_exceeded, "graph 'main'",
               "64 levels of nested graphs and calls");
  expect_error(model_with_functions(chain(100'000)), Code::limit_exceeded, "function 'dom.f99935'",
               "64 levels of nested graphs and calls");
}

TEST(VerifyFunction, NodesOfTheModelAreLimited) {
  Limits limits;
  limits.nodes = 1;
  expect_error(small_model(), Code::limit_exceeded, "graph 'main'", "more than 1 nodes", {}, limits);
}

TEST(VerifyFunction, ReferencesNameAttributesOfTheFunction) {
  Function f = function("f", "Relu");
  Attribute reference;
  reference.name = "alpha";
  reference.reference = "slope";
  reference.kind = static_cast<std::int32_t>(AttributeKind::real);
  f.nodes[0].attributes = {reference};
  expect_invalid(model_with_functions({f}), "function 'dom.f' > node 0 (Relu) > alpha",
                 "no attribute 'slope'");
  f.attributes = {"slope"};
  expect_sound(model_with_functions({f}));
  f.attributes.clear();
  f.default_attributes = {attribute("slope", 0.1F, AttributeKind::real)};
  expect_sound(model_with_functions({f}));
  f.nodes[0].attributes[0].value = 1.0F;
  expect_invalid(model_with_functions({f}), "function 'dom.f' > node 0 (Relu) > alpha",
                 "both a value and a reference");
}

TEST(VerifyFunction, AttributesOfAFunctionDiffer) {
  Function f = function("f", "Relu");
  f.attributes = {"slope", "slope"};
  expect_invalid(model_with_functions({f}), "function 'dom.f'", "attribute 'slope' is there twice");
  f.attributes = {"slope"};
  f.default_attributes = {attribute("slope", 0.1F, AttributeKind::real)};
  expect_invalid(model_with_functions({f}), "function 'dom.f'", "attribute 'slope' is there twice");
  f.attributes = {""};
  expect_invalid(model_with_functions({f}), "function 'dom.f'", "no name");
  f.attributes.clear();
  f.default_attributes = {attribute("slope", 0.1F, AttributeKind::integer)};
  expect_invalid(model_with_functions({f}), "function 'dom.f' > attribute 'slope'",
                 "declared as int, but holds float");
}

TEST(VerifyFunction, TypesInsideAreChecked) {
  Function f = function("f", "Relu");
  f.value_info = {value("a", {-1})};
  expect_invalid(model_with_functions({f}), "function 'dom.f' > value_info 'a'", "dimension 0 is -1");
  f.value_info.clear();
  f.metadata = {property("k", ""), property("k", "")};
  expect_invalid(model_with_functions({f}), "function 'dom.f'", "metadata key 'k'");
}

Model with(std::vector<Attribute> attributes) {
  Model model = small_model();
  model.graph->nodes[0].attributes = std::move(attributes);
  return model;
}

const std::string kNode = "graph 'main' > node '/relu' (Relu)";

TEST(VerifyAttribute, NamesDiffer) {
  const Attribute a = attribute("a", 1.0F, AttributeKind::real);
  expect_invalid(with({a, a}), kNode + " > a", "twice");
  Attribute nameless = a;
  nameless.name = "";
  expect_invalid(with({nameless}), kNode + " > attribute 0", "no name");
}

TEST(VerifyAttribute, NamesDifferHoweverManyThereAre) {
  for (const int count : {1, 2, 7, 8, 9, 40}) {
    Model model = small_model();
    std::vector<Attribute>& attributes = model.graph->nodes[0].attributes;
    for (int i = 0; i < count; ++i) {
      attributes.push_back(attribute("a" + std::to_string(i), std::int64_t{1}, AttributeKind::integer));
    }
    expect_sound(model);
    attributes.push_back(attributes.front());
    expect_invalid(model, kNode + " > a0", "twice");
  }
}

TEST(VerifyAttribute, TheValueIsOfTheDeclaredKind) {
  expect_invalid(with({attribute("a", 1.0F, AttributeKind::integer)}), kNode + " > a",
                 "declared as int, but holds float");
  expect_invalid(with({attribute("a", std::vector<std::int64_t>{1}, AttributeKind::type)}), kNode + " > a",
                 "declared as type, but holds ints");
  expect_invalid(with({attribute("a", 1.0F, static_cast<AttributeKind>(15))}), kNode + " > a",
                 "attribute type 15 does not exist");
  expect_invalid(with({attribute("a", 1.0F, static_cast<AttributeKind>(-1))}), kNode + " > a", "type -1");
  Attribute undeclared = attribute("a", 1.0F, AttributeKind::undefined);
  undeclared.kind.reset();
  expect_sound(with({undeclared}));
}

TEST(VerifyAttribute, EveryAlternativeHasItsKind) {
  const auto t = floats("", {1}, {1});
  const auto type = tensor_type(ElementType::int8, {});
  SparseTensor s;
  s.values = floats("", {0}, {});
  s.dims = {4};
  expect_sound(with({
      attribute("1", 1.0F, AttributeKind::real),
      attribute("2", std::int64_t{1}, AttributeKind::integer),
      attribute("3", std::string("s"), AttributeKind::string),
      attribute("4", t, AttributeKind::tensor),
      attribute("5", GraphBox(branch("x", "o")), AttributeKind::graph),
      attribute("6", s, AttributeKind::sparse_tensor),
      attribute("7", type, AttributeKind::type),
      attribute("8", std::vector<float>{1}, AttributeKind::reals),
      attribute("9", std::vector<std::int64_t>{1}, AttributeKind::integers),
      attribute("10", std::vector<std::string>{"s"}, AttributeKind::strings),
      attribute("11", std::vector{t}, AttributeKind::tensors),
      attribute("12", std::vector{GraphBox(branch("x", "o"))}, AttributeKind::graphs),
      attribute("13", std::vector{s}, AttributeKind::sparse_tensors),
      attribute("14", std::vector{type}, AttributeKind::types),
  }));
}

TEST(VerifyAttribute, ZerosAndEmptyListsMayBeLeftOutButNotTensorsOrGraphs) {
  expect_sound(
      with({attribute("a", {}, AttributeKind::integer), attribute("b", {}, AttributeKind::integers)}));
  expect_invalid(with({attribute("a", {}, AttributeKind::tensor)}), kNode + " > a", "no value");
  expect_invalid(with({attribute("a", {}, AttributeKind::graph)}), kNode + " > a", "no value");
  expect_invalid(with({attribute("a", {}, AttributeKind::sparse_tensor)}), kNode + " > a", "no value");
  expect_invalid(with({attribute("a", {}, AttributeKind::type)}), kNode + " > a", "no value");
  expect_invalid(with({attribute("a", {}, AttributeKind::undefined)}), kNode + " > a", "no value");
}

TEST(VerifyAttribute, ThereIsOneValueUnlessTheKindSelectsOne) {
  Attribute a = attribute("a", 1.0F, AttributeKind::real);
  a.others.push_back(floats("", {1}, {1}));
  expect_sound(with({a}));
  a.others.push_back(floats("", {2}, {1}));
  expect_invalid(with({a}), kNode + " > a", "takes 8 bytes");
  a.others.pop_back();
  a.kind.reset();
  expect_invalid(with({a}), kNode + " > a", "more than one value");
}

TEST(VerifyAttribute, ReferencesBelongInFunctions) {
  Attribute a = attribute("a", {}, AttributeKind::real);
  a.reference = "slope";
  expect_invalid(with({a}), kNode + " > a", "refers to 'slope', but this is not a function");
}

}  // namespace
}  // namespace anybit::graph
