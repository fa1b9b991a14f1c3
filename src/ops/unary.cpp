// Operators that treat each element alone, or otherwise keep type and shape of their first input.
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Descriptor keeps(std::string_view name, std::vector<std::int16_t> since, std::string_view domain = "") {
  return {.name = name, .domain = domain, .since = std::move(since), .infer = infer_same};
}

}  // namespace

std::span<const Descriptor> unary_descriptors() {
  static const Descriptor all[] = {
      keeps("Abs", {1, 6, 13}),
      keeps("Acos", {7, 22}),
      keeps("Acosh", {9, 22}),
      keeps("Asin", {7, 22}),
      keeps("Asinh", {9, 22}),
      keeps("Atan", {7, 22}),
      keeps("Atanh", {9, 22}),
      keeps("Ceil", {1, 6, 13}),
      keeps("Celu", {12}),
      keeps("Clip", {1, 6, 11, 12, 13}),
      keeps("Cos", {7, 22}),
      keeps("Cosh", {9, 22}),
      keeps("CumProd", {26}),
      keeps("CumSum", {11, 14}),
      keeps("Elu", {1, 6, 22}),
      keeps("Erf", {9, 13}),
      keeps("Exp", {1, 6, 13}),
      keeps("Floor", {1, 6, 13}),
      keeps("Gelu", {20}),
      keeps("HardSigmoid", {1, 6, 22}),
      keeps("HardSwish", {14, 22}),
      keeps("LeakyRelu", {1, 6, 16}),
      keeps("Log", {1, 6, 13}),
      keeps("Mish", {18, 22}),
      keeps("Neg", {1, 6, 13}),
      keeps("Reciprocal", {1, 6, 13}),
      keeps("Relu", {1, 6, 13, 14}),
      keeps("RotaryEmbedding", {23}),
      keeps("Round", {11, 22}),
      keeps("Selu", {1, 6, 22}),
      keeps("Shrink", {9}),
      keeps("Sigmoid", {1, 6, 13}),
      keeps("Sign", {9, 13}),
      keeps("Sin", {7, 22}),
      keeps("Sinh", {9, 22}),
      keeps("Softplus", {1, 22}),
      keeps("Softsign", {1, 22}),
      keeps("Sqrt", {1, 6, 13}),
      keeps("Swish", {24}),
      keeps("Tan", {7, 22}),
      keeps("Tanh", {1, 6, 13}),
      keeps("TensorScatter", {24}),
      keeps("ThresholdedRelu", {10, 22}),
      keeps("BiasGelu", {1}, kMicrosoft),
      keeps("FastGelu", {1}, kMicrosoft),
      keeps("Gelu", {1}, kMicrosoft),
      keeps("QuickGelu", {1}, kMicrosoft),
      keeps("RotaryEmbedding", {1}, kMicrosoft),
  };
  return all;
}

}  // namespace anybit::ops
