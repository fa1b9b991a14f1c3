// Subgraphs of primitive operators that stand for one operator, as exporters write them: quantization treats
// each as one. The graph itself is not changed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/constant.hpp"
#include "graph/model.hpp"

namespace anybit::passes {

struct Group {
  std::string kind;                 // the name of the pattern: "layer_norm", "gelu", …
  std::vector<int> nodes;           // of the graph, ascending
  std::vector<std::string> inputs;  // what comes from outside and is not constant
  std::string output;               // the only value that goes out
};

// In the order of their last nodes. A node is in one group at most; the larger one counts. A graph inside a
// node sees the constants around it too, if they are given.
std::vector<Group> recognise(const graph::Graph& graph, const graph::Constants* around = nullptr);

}  // namespace anybit::passes
