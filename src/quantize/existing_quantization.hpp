// What of a model is quantized already.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "graph/model.hpp"
#include "graph/node.hpp"

namespace anybit::quantizing {

// Calls see(node) for the nodes of a graph and its subgraphs.
template <class See>
void each_node(const graph::Graph& graph, See see) {
  for (const graph::Node& node : graph.nodes) {
    see(node);
    graph::each_graph(node, [&](const graph::Graph& inner) { each_node(inner, see); });
  }
}

bool is_quantized(const graph::Model& model);
// Functions of anybit's domain that somebody modified: their meaning in another opset is unknown.
bool has_strange_functions(const graph::Model& model);
// Counts operators on quantized values by type. They cannot be dequantized.
std::map<std::string, std::int64_t> integer_operators(const graph::Model& model);

}  // namespace anybit::quantizing
