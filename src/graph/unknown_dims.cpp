#include "graph/unknown_dims.hpp"

#include "graph/index.hpp"

namespace anybit::graph {
namespace {

void open(std::vector<ValueInfo>& values) {
  for (ValueInfo& one : values) {
    auto* type = one.type ? std::get_if<TensorType>(&one.type->kind) : nullptr;
    if (!type || !type->shape) continue;
    for (Dimension& dim : type->shape->dims) {
      if (dim.known() && dim.size() == -1) dim.value = std::monostate();
    }
  }
}

void open(Graph& graph) {
  for (auto* list : {&graph.inputs, &graph.outputs, &graph.value_info}) open(*list);
  for (Node& node : graph.nodes) each_graph(node, [](Graph& inner) { open(inner); });
}

}  // namespace

void open_unknown_dims(Model& model) {
  if (model.graph) open(*model.graph);
}

}  // namespace anybit::graph
