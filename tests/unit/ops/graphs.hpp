// Small models for tests of inference, written as they would be drawn.
#pragma once

#include <string>
#include <vector>

#include "graph/model.hpp"
#include "ops/infer.hpp"

namespace anybit::ops::testing {

inline graph::Attribute attribute(std::string name, graph::Attribute::Value value) {
  graph::Attribute result;
  result.name = graph::Text(std::move(name));
  result.value = std::move(value);
  return result;
}

inline graph::Node node(std::string op, std::vector<std::string> inputs, std::vector<std::string> outputs,
                        std::vector<graph::Attribute> attributes = {}, std::string domain = "") {
  graph::Node result;
  result.op_type = graph::Text(std::move(op));
  result.domain = graph::Text(std::move(domain));
  result.inputs = std::move(inputs);
  result.outputs = std::move(outputs);
  result.attributes = std::move(attributes);
  return result;
}

// A dimension is a number, a name, or "" for one that is not known.
inline graph::Dimension dimension(const std::string& text) {
  graph::Dimension result;
  if (text.empty()) return result;
  const bool number = text.find_first_not_of("0123456789") == std::string::npos;
  if (number) {
    result.value = static_cast<std::int64_t>(std::stoll(text));
  } else {
    result.value = text;
  }
  return result;
}

inline graph::ValueInfo value(std::string name, std::vector<std::string> dims,
                              ElementType type = ElementType::float32) {
  graph::TensorType tensor;
  tensor.element = static_cast<std::int32_t>(type);
  tensor.shape.emplace();
  for (const std::string& dim : dims) tensor.shape->dims.push_back(dimension(dim));
  graph::ValueInfo info;
  info.name = graph::Text(std::move(name));
  info.type.emplace();
  info.type->kind = std::move(tensor);
  return info;
}

// `values` as they lie in memory.
template <class T>
graph::Tensor stored(std::string name, ElementType type, std::vector<std::int64_t> dims,
                     std::vector<T> values) {
  graph::Tensor tensor;
  tensor.name = graph::Text(std::move(name));
  tensor.element = static_cast<std::int32_t>(type);
  tensor.dims = std::move(dims);
  tensor.data = Bytes::own(std::move(values));
  return tensor;
}

inline graph::Tensor int64s(std::string name, std::vector<std::int64_t> values) {
  const std::int64_t count = std::ssize(values);
  return stored(std::move(name), ElementType::int64, {count}, std::move(values));
}

inline graph::Tensor floats(std::string name, std::vector<std::int64_t> dims) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  graph::Tensor tensor;
  tensor.name = graph::Text(std::move(name));
  tensor.element = static_cast<std::int32_t>(ElementType::float32);
  tensor.dims = std::move(dims);
  tensor.data = Bytes::own(std::vector<float>(static_cast<std::size_t>(count), 1.0F));
  return tensor;
}

inline graph::Model model(graph::Graph graph, std::int64_t opset = 21) {
  graph::Model result;
  result.ir_version = 10;
  graph::OpsetImport import;
  import.version = opset;
  result.opsets.push_back(import);
  result.graph = std::move(graph);
  return result;
}

// "float32[1, n, ?]" of an output of the model's own graph.
inline std::string type_of(const Inference& inference, const std::string& name) {
  for (const NodeFacts& facts : inference.nodes) {
    for (std::size_t i = 0; i < facts.outputs.size(); ++i) {
      if (facts.graph != 0 || facts.node->outputs[i] != name) continue;
      const Value& found = facts.outputs[i];
      return std::string(graph::name_of(found.type)) +
             (found.shape ? "[" + to_string(*found.shape) + "]" : "[…]");
    }
  }
  return "no such output";
}

}  // namespace anybit::ops::testing
