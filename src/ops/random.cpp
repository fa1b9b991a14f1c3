// Random tensors: of a given shape, or like another. ONNX: RandomNormal-1, RandomUniform-1, their Like forms,
// Bernoulli-15.
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer_shaped(const Call& call) {
  const auto sizes = call.integers("shape");
  const auto shape = sizes ? std::optional(Shape(sizes->begin(), sizes->end())) : std::nullopt;
  return outputs_of(call, tensor(type_of(call.integer("dtype", 1)), shape));
}

Result<Values> infer_like(const Call& call) {
  const auto type = call.integer("dtype");
  return outputs_of(call, tensor(type ? type_of(*type) : call.in(0).type, call.in(0).shape));
}

}  // namespace

std::span<const Descriptor> random_descriptors() {
  static const Descriptor all[] = {
      {.name = "RandomNormal", .domain = "", .since = {1, 22}, .infer = infer_shaped},
      {.name = "RandomUniform", .domain = "", .since = {1, 22}, .infer = infer_shaped},
      {.name = "RandomNormalLike", .domain = "", .since = {1, 22}, .infer = infer_like},
      {.name = "RandomUniformLike", .domain = "", .since = {1, 22}, .infer = infer_like},
      {.name = "Bernoulli", .domain = "", .since = {15, 22}, .infer = infer_like},
  };
  return all;
}

}  // namespace anybit::ops
