#include "graph/index.hpp"

namespace anybit::graph {

Index::Index(const Graph& graph) : graph_(graph) {
  for (const ValueInfo& one : graph.inputs) values_[one.name.str()].is_input = true;
  for (const Tensor& one : graph.initializers) values_[one.name.str()].initializer = &one;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const auto number = static_cast<int>(i);
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      if (!node.inputs[k].empty()) values_[node.inputs[k]].uses.push_back({number, static_cast<int>(k)});
    }
    each_graph(node, [&](const Graph& inner) { add_uses(inner, number); });
    for (const std::string& name : node.outputs) {
      if (!name.empty()) values_[name].producer = number;
    }
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    Value& value = values_[graph.outputs[i].name.str()];
    value.is_output = true;
    value.uses.push_back({-1, static_cast<int>(i)});
  }
}

// Names that the inner graph defines itself count as well: conservative if one shadows an outer name.
void Index::add_uses(const Graph& inner, int node) {
  const auto add = [&](const std::string& name) {
    if (!name.empty()) values_[name].uses.push_back({node, -1});
  };
  for (const Node& one : inner.nodes) {
    for (const std::string& name : one.inputs) add(name);
    each_graph(one, [&](const Graph& deeper) { add_uses(deeper, node); });
  }
  for (const ValueInfo& one : inner.outputs) add(one.name.str());
}

const Index::Value* Index::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : &found->second;
}

int Index::producer(std::string_view name) const {
  const Value* value = find(name);
  return value ? value->producer : -1;
}

std::span<const Index::Use> Index::uses(std::string_view name) const {
  const Value* value = find(name);
  return value ? std::span<const Use>(value->uses) : std::span<const Use>();
}

int Index::only_user(std::string_view name) const {
  const auto all = uses(name);
  return all.size() == 1 && all[0].input >= 0 ? all[0].node : -1;
}

bool Index::is_output(std::string_view name) const {
  const Value* value = find(name);
  return value && value->is_output;
}

bool Index::is_input(std::string_view name) const {
  const Value* value = find(name);
  return value && value->is_input;
}

bool Index::exists(std::string_view name) const {
  const Value* value = find(name);
  return value && (value->producer >= 0 || value->is_input || value->initializer);
}

const Tensor* Index::constant(std::string_view name) const {
  const Value* value = find(name);
  if (!value) return nullptr;
  if (value->initializer && !value->is_input) return value->initializer;
  if (value->producer < 0) return nullptr;
  const Node& node = graph_.nodes[static_cast<std::size_t>(value->producer)];
  if (node.op_type.str() != "Constant" || !canonical_domain(node.domain.str()).empty()) return nullptr;
  const Attribute* held = node.attribute("value");
  return held ? std::get_if<Tensor>(&held->value) : nullptr;
}

}  // namespace anybit::graph
