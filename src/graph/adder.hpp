// Adds nodes, constants, inputs and outputs to a graph, under names that are new in the whole model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/names.hpp"
#include "graph/type.hpp"

namespace anybit::graph {

class Adder {
 public:
  // `names`: those of the model.
  Adder(Graph& graph, Names& names) : graph_(graph), names_(names) {}

  std::string fresh(std::string_view name) { return names_.fresh(name); }
  // Appends the node with so many outputs and returns their names: `stem` and a number.
  std::vector<std::string> add(Node node, std::size_t outputs, std::string_view stem);
  std::vector<std::string> ops(std::string_view type, std::vector<std::string> inputs, std::size_t outputs,
                               std::vector<Attribute> attributes = {}, std::string_view domain = {});
  // A node with one output.
  std::string op(std::string_view type, std::vector<std::string> inputs,
                 std::vector<Attribute> attributes = {}, std::string_view domain = {}) {
    return ops(type, std::move(inputs), 1, std::move(attributes), domain)[0];
  }

  // Constants. A number is a float32 scalar.
  std::string constant(std::string_view name, Tensor tensor);
  std::string number(double value) { return floats("number", {}, {static_cast<float>(value)}); }
  std::string floats(std::string_view name, std::vector<std::int64_t> dims, std::vector<float> values);
  std::string integers(std::vector<std::int64_t> values);

  // Inputs and outputs of the graph; `dims`: -1 for unknown ones.
  std::string input(std::string_view name, ElementType type, const std::vector<std::int64_t>& dims);
  void output(const std::string& value, ElementType type, const std::vector<std::int64_t>& dims);

 private:
  Graph& graph_;
  Names& names_;
};

}  // namespace anybit::graph
