// A part of a model as a model of its own: what has to run again when one node changes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/index.hpp"
#include "graph/model.hpp"

namespace anybit::passes {

// A node and all nodes that depend on it.
struct Behind {
  // Values that they take from other nodes, or from the model's inputs. Values that do not depend on an input
  // are not among them.
  std::vector<std::string> inputs;
  std::vector<std::size_t> outputs;  // indices of the outputs of the graph that they compute
};

class Dependence {
 public:
  // The graph must outlive the object and must not change.
  explicit Dependence(const graph::Graph& graph);
  Behind behind(std::size_t node) const;

 private:
  const graph::Graph& graph_;
  graph::Index index_;
  std::vector<std::vector<std::string>> uses_;  // of each node, with those of the graphs inside it
  std::vector<bool> varies_;                    // by node: it depends on an input of the graph, or on chance
};

// The nodes of the main graph that compute some outputs from `inputs`: values of the graph with their types,
// which become the model's inputs.
struct PartInput {
  std::string name;
  graph::Type type;
};
graph::Model part_of(graph::Model model, const std::vector<PartInput>& inputs,
                     const std::vector<std::size_t>& outputs);

}  // namespace anybit::passes
