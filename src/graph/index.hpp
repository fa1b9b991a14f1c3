// Who makes and who uses each value of a graph. A picture of the graph as it was: make a new one after edits.
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
    int node;   // -1: the graph gives it out
    int input;  // of the node; of the graph's outputs; -1: a graph inside the node uses it
  };

  // The graph must stay where it is as long as this is asked.
  explicit Index(const Graph& graph);

  // The node that makes a value; -1: none does (an input, a constant, a value from outside, or no value).
  int producer(std::string_view name) const;
  // In the order of the nodes.
  std::span<const Use> uses(std::string_view name) const;
  // The only node that uses it, once, as an input; -1 otherwise.
  int only_user(std::string_view name) const;
  bool is_output(std::string_view name) const;
  bool is_input(std::string_view name) const;
  // An initializer that no input may replace, or what a Constant node holds; null if it is neither.
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

// Calls `see` with every graph inside the node, not those inside them.
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
