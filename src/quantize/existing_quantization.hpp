// What of a model is quantized already.
#pragma once

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
// Names the operators on quantized values, which cannot be dequantized; empty if there are none.
std::string integer_operators_remark(const graph::Model& model);

}  // namespace anybit::quantizing
