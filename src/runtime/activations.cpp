#include "runtime/activations.hpp"

#include <limits>

namespace anybit::runtime {

using ops::Array;
using ops::ElementType;

float real_of(const Step& step, std::string_view attribute, float otherwise) {
  return graph::attribute_or(*step.node, attribute, otherwise);
}

std::optional<float> constant_number(const Edit& edit, const Step& step, std::size_t input, float otherwise) {
  if (input >= step.inputs.size() || step.inputs[input] < 0) return otherwise;
  const Array* array = edit.constant(step.inputs[input]);
  if (!array || array->type() != ElementType::float32 || array->count() != 1) return std::nullopt;
  return *array->data<float>();
}

std::optional<std::vector<float>> clip_bounds(const Edit& edit, const Step& step) {
  constexpr float kMost = std::numeric_limits<float>::max();
  std::optional<float> low, high;
  if (step.version < 11) {  // attributes
    low = real_of(step, "min", -kMost);
    high = real_of(step, "max", kMost);
  } else {
    low = constant_number(edit, step, 1, -kMost);
    high = constant_number(edit, step, 2, kMost);
  }
  if (!low || !high || !(*low <= *high)) return std::nullopt;
  return std::vector{*low, *high};
}

std::optional<NamedActivation> activation_of_step(const Edit& edit, const Step& step) {
  for (const std::string_view name : {"Relu", "Sigmoid", "Tanh", "HardSwish"}) {
    if (is(step, name)) return NamedActivation{std::string(name)};
  }
  if (is(step, "LeakyRelu")) return NamedActivation{"LeakyRelu", {real_of(step, "alpha", 0.01f)}};
  if (is(step, "HardSigmoid"))
    return NamedActivation{"HardSigmoid", {real_of(step, "alpha", 0.2f), real_of(step, "beta", 0.5f)}};
  if (!is(step, "Clip")) return std::nullopt;
  auto range = clip_bounds(edit, step);
  if (!range) return std::nullopt;
  return NamedActivation{"Clip", std::move(*range)};
}

}  // namespace anybit::runtime
