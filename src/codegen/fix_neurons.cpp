#include "codegen/fix_neurons.hpp"

#include <unordered_map>

#include "base/try.hpp"
#include "graph/index.hpp"
#include "graph/names.hpp"
#include "graph/node.hpp"
#include "ops/infer.hpp"
#include "ops/node_attributes.hpp"
#include "ops/quantized/fix_neuron.hpp"

namespace anybit::codegen {
namespace {

using graph::Graph;
using graph::Node;

bool has_any(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    bool found = ops::is_fix_neuron(node);
    graph::each_graph(node, [&](const Graph& inner) { found |= has_any(inner); });
    return found;
  });
}

using NodeDims = std::unordered_map<const Node*, std::vector<std::int64_t>>;

Result<NodeDims> dims_of_nodes(const graph::Model& model, const Limits& limits) {
  const ops::Inference inference = TRY(ops::infer(model, {.input_shapes = {}, .dims = {}, .limits = limits}));
  NodeDims shapes;
  for (const ops::NodeFacts& facts : inference.nodes) {
    if (!ops::is_fix_neuron(*facts.node) || facts.inputs.empty() || !facts.inputs[0]) continue;
    const ops::Value& x = *facts.inputs[0];
    if (x.type != graph::ElementType::float32 || !x.shape) continue;
    if (const auto dims = ops::numbers(*x.shape)) shapes.emplace(facts.node, *dims);
  }
  return shapes;
}

class Replacer {
 public:
  explicit Replacer(graph::Model& model) : names_(*model.graph) {}

  Result<void> run(Graph& graph, const NodeDims& shapes) {
    std::vector<Node> nodes;
    for (Node& node : graph.nodes) {
      Result<void> done;
      graph::each_graph(node, [&](Graph& inner) {
        if (done.ok()) done = run(inner, shapes);
      });
      TRY(std::move(done));
      if (const auto found = shapes.find(&node); found != shapes.end())
        TRY(replace(node, found->second, nodes));
      nodes.push_back(std::move(node));
    }
    graph.nodes = std::move(nodes);
    return {};
  }

 private:
  // Appends what comes before the node to `nodes`.
  Result<void> replace(Node& node, const std::vector<std::int64_t>& dims, std::vector<Node>& nodes) {
    const ops::FixNeuron neuron = TRY(ops::fix_neuron_of(ops::NodeAttributes(node)));
    if (neuron.through_bfloat16) {
      for (const auto type : {graph::ElementType::bfloat16, graph::ElementType::float32})
        node.inputs[0] = cast(node.inputs[0], type, nodes);
    }
    const bool single = std::ranges::all_of(dims, [](std::int64_t dim) { return dim == 1; });
    node.attributes.clear();
    node.op_type = graph::Text(single ? "Identity" : "QuantizeDequantize");
    node.domain = graph::Text(single ? std::string_view() : graph::kAnybit);
    if (!single)
      node.attributes.push_back(graph::attribute("format", formats::to_string(neuron.use_for(dims.size()))));
    return {};
  }

  std::string cast(const std::string& value, graph::ElementType type, std::vector<Node>& nodes) {
    const std::string made = names_.fresh(value + "_Cast");
    nodes.push_back(
        graph::make_node("Cast", {value}, {made}, {graph::attribute("to", static_cast<std::int64_t>(type))}));
    return made;
  }

  graph::Names names_;
};

}  // namespace

Result<void> replace_fix_neurons(graph::Model& model, const Limits& limits) {
  if (!has_any(*model.graph)) return {};
  const NodeDims shapes = TRY(dims_of_nodes(model, limits));
  TRY(Replacer(model).run(*model.graph, shapes));
  const auto is_ours = [](const graph::OpsetImport& one) { return one.domain == graph::kAnybit; };
  if (std::ranges::none_of(model.opsets, is_ours))
    model.opsets.push_back({graph::Text(graph::kAnybit), 1, {}});
  return {};
}

}  // namespace anybit::codegen
