// A graph with what surrounds it: constants of outer graphs, and what is known of its values.
#pragma once

#include <unordered_map>

#include "graph/index.hpp"
#include "ops/infer.hpp"
#include "ops/table.hpp"

namespace anybit::quantizing {

// What is known of every node's inputs and outputs, by node.
class Facts {
 public:
  static Result<Facts> of(const graph::Model& model, const Limits& limits);
  const ops::NodeFacts* find(const graph::Node& node) const;
  // Of a graph inside a node: "node 'choice' (If), then_branch".
  std::string place(const graph::Graph& graph) const;
  // What cannot work, or is declared wrongly.
  const std::vector<Error>& problems() const { return inference_.problems; }

 private:
  ops::Inference inference_;
  std::unordered_map<const graph::Node*, const ops::NodeFacts*> nodes_;
};

class Scope {
 public:
  Scope(const graph::Graph& graph, const Facts& facts, const Scope* outer)
      : graph(graph), index(graph), facts_(facts), outer_(outer) {}

  const graph::Graph& graph;
  const graph::Index index;

  // A constant of this graph or of one around it; null if the value is none.
  const graph::Tensor* constant(const std::string& name) const;
  // A constant of one element.
  bool is_number(const std::string& name) const;
  // True if input `i` of the node is float32, as far as is known.
  bool is_float(const graph::Node& node, std::size_t input) const;
  bool makes_float(const graph::Node& node) const;
  // Why it makes none; "" if it does.
  std::string why_not_float(const graph::Node& node) const;
  const Facts& facts() const { return facts_; }

 private:
  const Facts& facts_;
  const Scope* outer_;
};

}  // namespace anybit::quantizing
