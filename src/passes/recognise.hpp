// Recognises subgraphs of primitive operators that implement one operator, as exporters write them;
// quantization treats each as one. The graph itself is not changed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/constant.hpp"
#include "graph/model.hpp"

namespace anybit::passes {

struct Group {
  std::string kind;                 // the name of the pattern: "layer_norm", "gelu", …
  std::vector<int> nodes;           // indices in the graph, ascending
  std::vector<std::string> inputs;  // non-constant inputs
  std::string output;               // the only output
};

// Sorted by last node. A node is in at most one group; the larger group wins. A subgraph also sees the
// constants around it, if given.
std::vector<Group> recognise(const graph::Graph& graph, const graph::Constants* around = nullptr);

}  // namespace anybit::passes
