#include "graph/repeated_names.hpp"

#include <vector>

#include "graph/index.hpp"
#include "graph/names.hpp"

namespace anybit::graph {
namespace {

void number(std::vector<Node>& nodes) {
  Names used;
  std::vector<Node*> repeated;
  for (Node& node : nodes) {
    if (!node.name.empty() && !used.add(node.name.str())) repeated.push_back(&node);
    each_graph(node, [](Graph& inner) { number(inner.nodes); });
  }
  for (Node* node : repeated) node->name = Text(used.fresh(node->name.str()));
}

}  // namespace

void number_repeated_names(Model& model) {
  if (model.graph) number(model.graph->nodes);
  for (Function& function : model.functions) number(function.nodes);
}

}  // namespace anybit::graph
