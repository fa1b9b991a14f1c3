// ONNX Runtime's activations on quantized tensors: input, its scale and zero point, those of the output.
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Descriptor activation(std::string_view name) {
  return {
      .name = name,
      .domain = kMicrosoft,
      .since = {1},
      .infer = infer_same,
      .quantized = {{.input = 0, .scale = 1, .zero_point = 2}, {.output = 0, .scale = 3, .zero_point = 4}}};
}

}  // namespace

std::span<const Descriptor> qlinear_unary_descriptors() {
  static const Descriptor all[] = {activation("QLinearLeakyRelu"), activation("QLinearSigmoid"),
                                   activation("QLinearSoftmax")};
  return all;
}

}  // namespace anybit::ops
