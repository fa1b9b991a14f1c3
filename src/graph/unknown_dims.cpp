#include "graph/unknown_dims.hpp"

#include "graph/index.hpp"

namespace anybit::graph {
namespace {

// Such a name stands for a different size at each place; other names stand for one size.
bool means_unknown(const Dimension& dim) {
  if (dim.known()) return dim.size() == -1;
  const auto* name = std::get_if<std::string>(&dim.value);
  return name && (*name == "?" || *name == "-1" || *name == "None");
}

void open(std::vector<ValueInfo>& values) {
  for (ValueInfo& one : values) {
    auto* type = one.type ? std::get_if<TensorType>(&one.type->kind) : nullptr;
    if (!type || !type->shape) continue;
    for (Dimension& dim : type->shape->dims) {
      if (means_unknown(dim)) dim.value = std::monostate();
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
