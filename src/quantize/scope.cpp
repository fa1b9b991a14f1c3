#include "quantize/scope.hpp"

#include "base/try.hpp"

namespace anybit::quantizing {

using graph::ElementType;

Result<Facts> Facts::of(const graph::Model& model, const Limits& limits) {
  Facts facts;
  facts.inference_ = TRY(ops::infer(model, {.input_shapes = {}, .dims = {}, .limits = limits}));
  TRY(ops::check_nodes(facts.inference_));
  for (const ops::NodeFacts& one : facts.inference_.nodes) facts.nodes_.emplace(one.node, &one);
  return facts;
}

const ops::NodeFacts* Facts::find(const graph::Node& node) const {
  const auto found = nodes_.find(&node);
  return found == nodes_.end() ? nullptr : found->second;
}

std::string Facts::place(const graph::Graph& graph) const {
  for (const auto& one : inference_.graphs) {
    if (one.graph == &graph) return one.place;
  }
  return {};
}

const graph::Tensor* Scope::constant(const std::string& name) const {
  if (index.exists(name) || !outer_) return index.constant(name);
  return outer_->constant(name);
}

bool Scope::is_number(const std::string& name) const {
  const graph::Tensor* tensor = constant(name);
  return tensor && tensor->count() == 1 && tensor->dims.size() <= 1;
}

bool Scope::is_float(const graph::Node& node, std::size_t input) const {
  if (const graph::Tensor* held = constant(node.inputs[input])) return held->type() == ElementType::float32;
  const ops::NodeFacts* known = facts_.find(node);
  if (!known || input >= known->inputs.size() || !known->inputs[input]) return false;
  return known->inputs[input]->type == ElementType::float32;
}

bool Scope::makes_float(const graph::Node& node) const {
  const ops::NodeFacts* known = facts_.find(node);
  return known && !known->outputs.empty() && known->outputs[0].type == ElementType::float32;
}

std::string Scope::why_not_float(const graph::Node& node) const {
  if (makes_float(node)) return {};
  const ops::NodeFacts* known = facts_.find(node);
  if (known && !known->problem.empty()) return fmt::format("it is invalid: {}", known->problem);
  const bool typed = known && !known->outputs.empty() && known->outputs[0].type != ElementType::undefined;
  return typed ? "its values are not float32" : "the type of its values is unknown";
}

}  // namespace anybit::quantizing
