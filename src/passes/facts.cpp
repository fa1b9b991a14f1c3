#include "passes/facts.hpp"

#include <algorithm>

#include "graph/index.hpp"
#include "passes/learned.hpp"

namespace anybit::passes {
namespace {

// The first named output of a node; null if it has none.
const std::string* made_by(const graph::Node& node) {
  const auto named = std::ranges::find_if(node.outputs, [](const std::string& one) { return !one.empty(); });
  return named == node.outputs.end() ? nullptr : &*named;
}

}  // namespace

Facts::Facts(const graph::Model& model, const Limits& limits) {
  const auto found = std::make_shared<Found>();
  found_ = found;
  // On errors everything stays unknown.
  auto inference = ops::infer(model, {.input_shapes = {}, .dims = {}, .limits = limits});
  if (!inference.ok()) return;
  const auto learn = [&](const std::string& name, const ops::Value& value) {
    if (name.empty()) return;
    ops::Value& known = found->values[name] = value;
    known.constant = nullptr;  // it points into the model, which is about to change
  };
  for (const ops::NodeFacts& one : inference->nodes) {
    const std::string* made = made_by(*one.node);
    if (made && (!one.problem.empty() || !one.refusal.empty())) found->failing.insert(*made);
    for (std::size_t i = 0; i < one.inputs.size() && i < one.node->inputs.size(); ++i) {
      if (one.inputs[i]) learn(one.node->inputs[i], *one.inputs[i]);
    }
    for (std::size_t i = 0; i < one.outputs.size() && i < one.node->outputs.size(); ++i)
      learn(one.node->outputs[i], one.outputs[i]);
  }
}

Facts::Facts(const graph::Model& model, const PassOptions& options)
    : Facts(options.learned && options.learned->facts ? *options.learned->facts
                                                      : Facts(model, options.limits)) {
  if (options.learned) options.learned->facts = *this;
}

const ops::Value& Facts::of(std::string_view name) const {
  static const ops::Value unknown;
  const auto found = found_->values.find(std::string(name));
  return found == found_->values.end() ? unknown : found->second;
}

std::optional<std::size_t> Facts::rank(std::string_view name) const {
  const ops::Value& value = of(name);
  return value.shape ? std::optional(value.shape->size()) : std::nullopt;
}

bool Facts::same_shape(std::string_view a, std::string_view b) const {
  const auto &one = of(a).shape, &other = of(b).shape;
  return one && other && std::ranges::equal(*one, *other, ops::same);
}

bool Facts::fails(const graph::Node& node) const {
  const std::string* made = made_by(node);
  return made && found_->failing.contains(*made);
}

bool Facts::any_fails(const graph::Graph& graph) const {
  return std::ranges::any_of(graph.nodes, [&](const graph::Node& node) {
    bool inside = fails(node);
    graph::each_graph(node, [&](const graph::Graph& inner) { inside = inside || any_fails(inner); });
    return inside;
  });
}

}  // namespace anybit::passes
