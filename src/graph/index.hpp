// Producers and consumers of every value of a graph. A snapshot: make a new index after edits.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/model.hpp"

namespace anybit::graph {

class Index {
 public:
  struct Use {
    int node;   // -1: the value is an output of the graph
    int input;  // index among the inputs of the node, or among the graph's outputs; -1: used in a graph
                // inside the node
  };

  // The graph must outlive the index and must not change.
  explicit Index(const Graph& graph);

  // The node that produces a value; -1 if none does (an input, a constant, a captured value, or an unknown
  // name).
  int producer(std::string_view name) const;
  // The consumers, in the order of the nodes.
  std::span<const Use> uses(std::string_view name) const;
  // The only consumer, if it is a node that uses the value once, as an input; otherwise -1.
  int only_user(std::string_view name) const;
  bool is_output(std::string_view name) const;
  bool is_input(std::string_view name) const;
  // The tensor of an initializer that is no input's default, or of a Constant node; null for other values.
  const Tensor* constant(std::string_view name) const;
  bool exists(std::string_view name) const;

 private:
  struct Value {
    int producer = -1;
    bool is_input = false, is_output = false;
    const Tensor* initializer = nullptr;
    std::vector<Use> uses;
  };
  void add_uses(const Graph& inner, int node);
  const Value* find(std::string_view name) const;

  const Graph& graph_;
  std::unordered_map<std::string_view, Value> values_;
};

// Calls `see` with every graph inside the node, not recursively.
template <class See>
void each_graph(const Node& node, See see) {
  for (const Attribute& one : node.attributes) {
    if (const auto* box = std::get_if<GraphBox>(&one.value)) see(**box);
    if (const auto* boxes = std::get_if<std::vector<GraphBox>>(&one.value)) {
      for (const GraphBox& box : *boxes) see(*box);
    }
  }
}
template <class See>
void each_graph(Node& node, See see) {
  for (Attribute& one : node.attributes) {
    if (auto* box = std::get_if<GraphBox>(&one.value)) see(**box);
    if (auto* boxes = std::get_if<std::vector<GraphBox>>(&one.value)) {
      for (GraphBox& box : *boxes) see(*box);
    }
  }
}

}  // namespace anybit::graph
