// QLinearAdd and QLinearMul: ONNX Runtime's arithmetic on two quantized tensors. Inputs: A, its scale and
// zero point, B, its scale and zero point, the result's.
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  return outputs_of(call, tensor(call.in(0).type, TRY(broadcast(call.in(0).shape, call.in(3).shape))));
}

Descriptor qlinear(std::string_view name) {
  return {.name = name,
          .domain = kMicrosoft,
          .since = {1},
          .infer = infer,
          .quantized = {{.input = 0, .scale = 1, .zero_point = 2},
                        {.input = 3, .scale = 4, .zero_point = 5},
                        {.output = 0, .scale = 6, .zero_point = 7}}};
}

}  // namespace

std::span<const Descriptor> qlinear_binary_descriptors() {
  static const Descriptor all[] = {qlinear("QLinearAdd"), qlinear("QLinearMul")};
  return all;
}

}  // namespace anybit::ops
