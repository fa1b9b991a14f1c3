#include "train/free_batch.hpp"

#include "graph/constant.hpp"
#include "graph/names.hpp"
#include "graph/node.hpp"

namespace anybit::train {
namespace {

void free_first_dim(std::vector<graph::ValueInfo>& values, bool only_one) {
  for (graph::ValueInfo& one : values) {
    auto* tensor = one.type ? std::get_if<graph::TensorType>(&one.type->kind) : nullptr;
    if (!tensor || !tensor->shape || tensor->shape->dims.empty()) continue;
    graph::Dimension& first = tensor->shape->dims[0];
    if (!only_one) {
      tensor->shape.reset();
    } else if (first.known() && first.size() == 1) {
      first.value = std::string("anybit_batch");
    }
  }
}

}  // namespace

void free_batch(graph::Model& model) {
  graph::Graph& graph = *model.graph;
  free_first_dim(graph.inputs, true);
  free_first_dim(graph.outputs, false);
  graph.value_info.clear();
  const graph::Constants constants(model);
  graph::Names names(model);
  for (graph::Node& node : graph.nodes) {
    if (node.op_type.str() != "Reshape" || node.inputs.size() != 2 ||
        graph::integer(node, "allowzero", 0) != 0)
      continue;
    auto shape = graph::integers(constants.find(node.inputs[1]));
    if (!shape || shape->size() < 2 || (*shape)[0] != 1) continue;
    (*shape)[0] = 0;  // as the input
    std::string name = names.fresh(node.inputs[1]);
    graph.initializers.push_back(graph::make_tensor(name, {std::ssize(*shape)}, std::move(*shape)));
    node.inputs[1] = std::move(name);
  }
}

}  // namespace anybit::train
