#include "quantize/remark_on_speed.hpp"

#include <fmt/format.h>

#include <optional>

#include "formats/table.hpp"

namespace anybit::quantizing {
namespace {

// The format of the first activation, and of the first weight, that are not ONNX integers, including
// subgraphs.
struct Formats {
  std::optional<std::string> values, weights;
};

void find_formats(const lower::GraphPlan& plan, Formats& found) {
  const auto see = [&](const lower::Quantization& as) {
    if (!found.values && !as.is_linear()) found.values = as.use.format;
  };
  for (const lower::Activation& one : plan.activations) {
    if (one.made) see(*one.made);
    for (const lower::Activation::Taken& taken : one.taken) see(taken.as);
  }
  for (const lower::Constant& one : plan.constants) {
    if (!found.weights && !one.is_linear()) found.weights = one.use.format;
  }
  for (const lower::GraphPlan& inner : plan.inner) find_formats(inner, found);
}

bool holds(const std::optional<std::string>& format, bool formats::Descriptor::*fact) {
  const auto found = formats::find(format.value_or(""));
  return found.ok() && (*found)->*fact;
}

}  // namespace

std::string remark_on_speed(const lower::GraphPlan& plan) {
  Formats found;
  find_formats(plan, found);
  const auto& [values, weights] = found;
  if (holds(values, &formats::Descriptor::multiplied))
    return "the inputs of linear operators are binarized at run time, which takes time: small convolutions "
           "can "
           "be slower than in float";
  if (values)
    return fmt::format(
        "the inputs of linear operators are fake-quantized to {} at run time and multiplied in float32: this "
        "emulates hardware with that format, and can be slower than the float model{}",
        *values, holds(values, &formats::Descriptor::vanishing) ? "" : ". A weight-only recipe is not");
  if (holds(weights, &formats::Descriptor::vanishing))
    return fmt::format(
        "before it is trained with {} weights, activations of the model can become subnormal (below 1e-38): "
        "some CPUs are slow on these, and the model can be slower than the float model",
        *weights);
  return "";
}

}  // namespace anybit::quantizing
