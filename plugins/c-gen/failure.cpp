#include "failure.hpp"

#include <string_view>

namespace anybit::cgen {

std::string failure(const anybit_graph& branch) {
  if (branch.node_count != 1) return {};
  const anybit_node& node = branch.nodes[0];
  if (std::string_view(node.op) != "Fail" || std::string_view(node.domain) != "ai.anybit") return {};
  return node.attributes[0].texts[0];
}

std::vector<std::string> failures(const anybit_graph& graph) {
  std::vector<std::string> all;
  if (std::string own = failure(graph); !own.empty()) all.push_back(std::move(own));
  for (std::size_t i = 0; i < graph.node_count; ++i) {
    const anybit_node& node = graph.nodes[i];
    for (std::size_t k = 0; k < node.attribute_count; ++k) {
      if (!node.attributes[k].graph) continue;
      for (std::string& one : failures(*node.attributes[k].graph)) all.push_back(std::move(one));
    }
  }
  return all;
}

}  // namespace anybit::cgen
