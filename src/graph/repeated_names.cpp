#include "graph/repeated_names.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "graph/index.hpp"

namespace anybit::graph {
namespace {

void number(std::vector<Node>& nodes) {
  std::unordered_set<std::string_view> used;
  std::vector<Node*> repeated;
  for (Node& node : nodes) {
    if (!node.name.empty() && !used.insert(node.name.str()).second) repeated.push_back(&node);
    each_graph(node, [](Graph& inner) { number(inner.nodes); });
  }
  std::unordered_map<std::string, std::size_t> numbers;
  for (Node* node : repeated) {
    std::size_t& last = numbers.try_emplace(node->name.str(), 1).first->second;
    std::string made;
    do made = fmt::format("{}_{}", node->name.str(), ++last);
    while (used.contains(made));
    node->name = Text(std::move(made));
    used.insert(node->name.str());
  }
}

}  // namespace

void number_repeated_names(Model& model) {
  if (model.graph) number(model.graph->nodes);
  for (Function& function : model.functions) number(function.nodes);
}

}  // namespace anybit::graph
