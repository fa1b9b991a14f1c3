// Adds nodes and constants to a graph.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/constant.hpp"
#include "graph/names.hpp"
#include "graph/node.hpp"

namespace anybit::train {

class Emit {
 public:
  explicit Emit(graph::Model& model) : graph_(*model.graph), names_(model) {}

  graph::Graph& graph() { return graph_; }
  std::string fresh(std::string_view name) { return names_.fresh(name); }
  // A node with one output, whose name is returned.
  std::string op(std::string_view type, std::vector<std::string> inputs,
                 std::vector<graph::Attribute> attributes = {}, std::string_view domain = {}) {
    return ops(type, std::move(inputs), 1, std::move(attributes), domain)[0];
  }
  std::vector<std::string> ops(std::string_view type, std::vector<std::string> inputs, std::size_t outputs,
                               std::vector<graph::Attribute> attributes = {}, std::string_view domain = {}) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < outputs; ++i) names.push_back(names_.fresh(std::string(type) + "_out"));
    graph::Node node = graph::make_node(type, std::move(inputs), names, std::move(attributes), domain);
    node.name = graph::Text(names_.fresh(type));
    graph_.nodes.push_back(std::move(node));
    return names;
  }
  // Constants. A number is a float32 scalar.
  std::string number(double value) { return floats("number", {}, {static_cast<float>(value)}); }
  std::string floats(std::string_view name, std::vector<std::int64_t> dims, std::vector<float> values) {
    std::string fresh = names_.fresh(name);
    graph_.initializers.push_back(graph::make_tensor(fresh, std::move(dims), std::move(values)));
    return fresh;
  }
  std::string integers(std::vector<std::int64_t> values) {
    std::string fresh = names_.fresh("integers");
    graph_.initializers.push_back(graph::make_tensor(fresh, {std::ssize(values)}, std::move(values)));
    return fresh;
  }
  // An input of the graph; `dims`: -1 for unknown ones.
  std::string input(std::string_view name, graph::ElementType type, const std::vector<std::int64_t>& dims) {
    std::string fresh = names_.fresh(name);
    graph_.inputs.push_back(info(fresh, type, dims));
    return fresh;
  }
  void output(const std::string& value, graph::ElementType type, const std::vector<std::int64_t>& dims) {
    graph_.outputs.push_back(info(value, type, dims));
  }

 private:
  static graph::ValueInfo info(const std::string& name, graph::ElementType type,
                               const std::vector<std::int64_t>& dims) {
    graph::TensorType tensor;
    tensor.element = static_cast<std::int32_t>(type);
    tensor.shape.emplace();
    for (const std::int64_t dim : dims) {
      auto& one = tensor.shape->dims.emplace_back();
      if (dim >= 0) one.value = dim;
    }
    graph::ValueInfo value;
    value.name = graph::Text(name);
    value.type = graph::Type{std::move(tensor)};
    return value;
  }

  graph::Graph& graph_;
  graph::Names names_;
};

}  // namespace anybit::train
