// A graph with its context: constants of outer graphs, and inferred types and shapes.
#pragma once

#include <unordered_map>

#include "graph/index.hpp"
#include "ops/infer.hpp"
#include "ops/table.hpp"

namespace anybit::quantizing {

// The inferred inputs and outputs of all nodes.
class Facts {
 public:
  static Result<Facts> of(const graph::Model& model, const Limits& limits);
  const ops::NodeFacts* find(const graph::Node& node) const;
  // For a subgraph: "node 'choice' (If), then_branch".
  std::string place(const graph::Graph& graph) const;
  // Invalid nodes and wrong declarations.
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

  // A constant of this graph or an outer one; null if the value is not constant.
  const graph::Tensor* constant(const std::string& name) const;
  // Returns true for a constant with one element.
  bool is_number(const std::string& name) const;
  // Returns true if input `i` of the node is known to be float32.
  bool is_float(const graph::Node& node, std::size_t input) const;
  bool makes_float(const graph::Node& node) const;
  // Why the output is not float32; empty if it is.
  std::string why_not_float(const graph::Node& node) const;
  const Facts& facts() const { return facts_; }

 private:
  const Facts& facts_;
  const Scope* outer_;
};

}  // namespace anybit::quantizing
