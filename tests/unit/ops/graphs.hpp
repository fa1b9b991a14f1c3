// Small models for tests of inference, in a compact notation.
#pragma once

#include <string>
#include <vector>

#include "graph/constant.hpp"
#include "graph/node.hpp"
#include "ops/infer.hpp"

namespace anybit::ops::testing {

using graph::attribute;

inline graph::Node node(std::string_view op, std::vector<std::string> inputs,
                        std::vector<std::string> outputs, std::vector<graph::Attribute> attributes = {},
                        std::string_view domain = "") {
  return graph::make_node(op, std::move(inputs), std::move(outputs), std::move(attributes), domain);
}

// A dimension: a number, a name, or "" for unknown.
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

inline graph::Tensor int64s(std::string name, std::vector<std::int64_t> values) {
  const std::int64_t count = std::ssize(values);
  return graph::make_tensor(std::move(name), {count}, std::move(values));
}

inline graph::Tensor floats(std::string name, std::vector<std::int64_t> dims) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  return graph::make_tensor(std::move(name), std::move(dims),
                            std::vector<float>(static_cast<std::size_t>(count), 1.0F));
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

// "float32[1, n, ?]" for an output of the main graph.
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
