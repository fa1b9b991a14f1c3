// Constant nodes become initializers; single numbers, lists and strings become tensors.
#include "graph/constant.hpp"
#include "graph/node.hpp"
#include "graph/rewrite.hpp"
#include "passes/table.hpp"

namespace anybit::passes {
namespace {

using graph::Attribute;
using graph::ElementType;
using graph::Tensor;

Tensor tensor_of_strings(std::vector<std::string> values, std::vector<std::int64_t> dims) {
  Tensor tensor;
  tensor.element = static_cast<std::int32_t>(ElementType::string);
  tensor.dims = std::move(dims);
  tensor.strings = std::move(values);
  tensor.storage = graph::Storage::typed;
  return tensor;
}

std::optional<Tensor> held_by(const graph::Node& node) {
  for (const Attribute& one : node.attributes) {
    if (!one.reference.empty()) return std::nullopt;
    const std::string& name = one.name.str();
    const auto get = [&]<class T>(T) { return std::get_if<T>(&one.value); };
    if (const auto* tensor = get(Tensor()); tensor && name == "value") return *tensor;
    if (const auto* value = get(0.0f); value && name == "value_float")
      return graph::make_tensor("", {}, std::vector<float>{*value});
    if (const auto* value = get(std::int64_t{}); value && name == "value_int")
      return graph::make_tensor("", {}, std::vector<std::int64_t>{*value});
    if (const auto* value = get(std::string()); value && name == "value_string")
      return tensor_of_strings({*value}, {});
    if (const auto* values = get(std::vector<float>()); values && name == "value_floats")
      return graph::make_tensor("", {std::ssize(*values)}, *values);
    if (const auto* values = get(std::vector<std::int64_t>()); values && name == "value_ints")
      return graph::make_tensor("", {std::ssize(*values)}, *values);
    if (const auto* values = get(std::vector<std::string>()); values && name == "value_strings")
      return tensor_of_strings(*values, {std::ssize(*values)});
  }
  return std::nullopt;
}

std::int64_t run_in(graph::Graph& graph, const PassOptions& options) {
  std::set<std::string_view> outputs;
  for (const graph::ValueInfo& one : graph.outputs) outputs.insert(one.name.str());
  std::vector<bool> removed(graph.nodes.size());
  std::int64_t changes = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const graph::Node& node = graph.nodes[i];
    // Outputs of a graph must be produced by a node.
    if (!is(node, "Constant") || node.outputs.size() != 1 || outputs.count(node.outputs[0]) ||
        options.keeps(node))
      continue;
    auto tensor = held_by(node);
    if (!tensor) continue;
    tensor->name = graph::Text(node.outputs[0]);
    graph.initializers.push_back(*std::move(tensor));
    removed[i] = true;
    ++changes;
  }
  remove_nodes(graph, removed);
  return changes;
}

Result<std::int64_t> run(graph::Model& model, const PassOptions& options) {
  std::int64_t changes = 0;
  each_graph_of(model, [&](graph::Graph& graph) { changes += run_in(graph, options); });
  return changes;
}

}  // namespace

std::span<const Descriptor> constant_nodes_descriptors() {
  static const Descriptor all[] = {{.name = "constant_nodes",
                                    .order = 40,
                                    .summary = "converts Constant nodes to initializers",
                                    .run = run,
                                    .also = Also::running}};
  return all;
}

}  // namespace anybit::passes
