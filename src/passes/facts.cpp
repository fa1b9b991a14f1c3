#include "passes/facts.hpp"

#include <algorithm>

#include "passes/learned.hpp"

namespace anybit::passes {

Facts::Facts(const graph::Model& model, const Limits& limits) {
  const auto values = std::make_shared<std::unordered_map<std::string, ops::Value>>();
  values_ = values;
  // What cannot be inferred is unknown.
  auto inference = ops::infer(model, {.input_shapes = {}, .dims = {}, .limits = limits});
  if (!inference.ok()) return;
  const auto learn = [&](const std::string& name, const ops::Value& value) {
    if (name.empty()) return;
    ops::Value& known = (*values)[name] = value;
    known.constant = nullptr;  // it points into the model, which is about to change
  };
  for (const ops::NodeFacts& one : inference->nodes) {
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
  const auto found = values_->find(std::string(name));
  return found == values_->end() ? unknown : found->second;
}

std::optional<std::size_t> Facts::rank(std::string_view name) const {
  const ops::Value& value = of(name);
  return value.shape ? std::optional(value.shape->size()) : std::nullopt;
}

bool Facts::same_shape(std::string_view a, std::string_view b) const {
  const auto &one = of(a).shape, &other = of(b).shape;
  return one && other && std::ranges::equal(*one, *other, ops::same);
}

}  // namespace anybit::passes
