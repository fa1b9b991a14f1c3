// Small valid models for tests to break, and checks of the resulting errors.
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "graph/verify.hpp"

namespace anybit::graph::testing {

inline Type tensor_type(ElementType element, const std::vector<std::int64_t>& dims) {
  TensorType type;
  type.element = static_cast<std::int32_t>(element);
  type.shape.emplace();
  for (std::int64_t dim : dims) type.shape->dims.push_back({dim, {}, {}});
  return Type(type);
}

inline ValueInfo value(const std::string& name, std::optional<Type> type = {}) {
  ValueInfo info;
  info.name = name;
  info.type = std::move(type);
  return info;
}

inline ValueInfo value(const std::string& name, const std::vector<std::int64_t>& dims) {
  return value(name, tensor_type(ElementType::float32, dims));
}

inline Node node(const std::string& op, std::vector<std::string> inputs, std::vector<std::string> outputs,
                 const std::string& name = {}) {
  Node node;
  node.op_type = op;
  node.inputs = std::move(inputs);
  node.outputs = std::move(outputs);
  if (!name.empty()) node.name = name;
  return node;
}

inline Attribute attribute(const std::string& name, Attribute::Value value, AttributeKind kind) {
  Attribute attribute;
  attribute.name = name;
  attribute.value = std::move(value);
  attribute.kind = static_cast<std::int32_t>(kind);
  return attribute;
}

inline Attribute graph_attribute(const std::string& name, Graph graph) {
  return attribute(name, GraphBox(std::move(graph)), AttributeKind::graph);
}

template <class T>
Tensor tensor(const std::string& name, ElementType element, std::vector<std::int64_t> dims,
              std::vector<T> data) {
  Tensor tensor;
  tensor.name = name;
  tensor.element = static_cast<std::int32_t>(element);
  tensor.dims = std::move(dims);
  tensor.data = Bytes::own(std::move(data));
  return tensor;
}

inline Tensor floats(const std::string& name, std::vector<std::int64_t> dims, std::vector<float> data) {
  return tensor(name, ElementType::float32, std::move(dims), std::move(data));
}

inline OpsetImport opset(const std::string& domain, std::int64_t version) {
  OpsetImport import;
  import.domain = domain;
  import.version = version;
  return import;
}

inline Property property(const std::string& key, const std::string& value) { return {key, value, {}}; }

// x → Relu '/relu' → h; h + w → Add '/add' → y
inline Model small_model() {
  Graph graph;
  graph.name = "main";
  graph.inputs = {value("x", {1, 2})};
  graph.outputs = {value("y", {1, 2})};
  graph.initializers = {floats("w", {2}, {1, 2})};
  graph.nodes = {node("Relu", {"x"}, {"h"}, "/relu"), node("Add", {"h", "w"}, {"y"}, "/add")};
  Model model;
  model.ir_version = 8;
  model.opsets = {opset("", 17)};
  model.graph = std::move(graph);
  return model;
}

inline Graph branch(const std::string& input, const std::string& output) {
  Graph graph;
  graph.name = "branch";
  graph.nodes = {node("Neg", {input}, {output}, "/neg")};
  graph.outputs = {value(output)};
  return graph;
}

// The small model with `If` '/if' after it, whose then_branch is `inner`.
inline Model model_with_branch(Graph inner) {
  Model model = small_model();
  Node condition = node("If", {"x"}, {"z"}, "/if");
  condition.attributes = {graph_attribute("then_branch", std::move(inner)),
                          graph_attribute("else_branch", branch("h", "e"))};
  model.graph->nodes.push_back(std::move(condition));
  return model;
}

// A function dom.f(a) = op(a), called by the node '/call' of the small model.
inline Function function(const std::string& name, const std::string& op, const std::string& op_domain = {}) {
  Function function;
  function.name = name;
  function.domain = "dom";
  function.inputs = {"a"};
  function.outputs = {"b"};
  function.opsets = {opset("", 17), opset("dom", 1)};
  function.nodes = {node(op, {"a"}, {"b"})};
  function.nodes[0].domain = op_domain;
  return function;
}

inline Model model_with_functions(std::vector<Function> functions) {
  Model model = small_model();
  model.opsets.push_back(opset("dom", 1));
  model.graph->nodes.push_back(node("f", {"x"}, {"z"}, "/call"));
  model.graph->nodes.back().domain = "dom";
  model.functions = std::move(functions);
  return model;
}

inline void expect_sound(const Model& model, const Limits& limits = {}) {
  const auto result = verify(model, limits);
  EXPECT_TRUE(result.ok()) << result.error().text();
}

inline void expect_error(const Model& model, Code code, const std::string& place, const std::string& message,
                         const std::string& hint = {}, const Limits& limits = {}) {
  const auto result = verify(model, limits);
  ASSERT_FALSE(result.ok()) << "should be rejected: " << place << ": " << message;
  EXPECT_EQ(result.error().code, code) << result.error().text();
  EXPECT_EQ(result.error().place, place);
  EXPECT_THAT(result.error().message, ::testing::HasSubstr(message));
  EXPECT_THAT(result.error().hint, ::testing::HasSubstr(hint));
}

inline void expect_invalid(const Model& model, const std::string& place, const std::string& message,
                           const std::string& hint = {}) {
  expect_error(model, Code::invalid_model, place, message, hint);
}

}  // namespace anybit::graph::testing
