// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: one number, or one for each target.
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  const bool reduced = call.text("reduction", "mean") != "none";
  Values values(call.output_count(),
                tensor(call.in(0).type, call.in(0).shape));  // output 1: log probabilities
  if (!values.empty()) values[0].shape = reduced ? std::optional(Shape()) : call.in(1).shape;
  return values;
}

}  // namespace

std::span<const Descriptor> loss_descriptors() {
  static const Descriptor all[] = {
      {.name = "NegativeLogLikelihoodLoss", .domain = "", .since = {12, 13, 22}, .infer = infer},
      {.name = "SoftmaxCrossEntropyLoss", .domain = "", .since = {12, 13}, .infer = infer},
  };
  return all;
}

}  // namespace anybit::ops
