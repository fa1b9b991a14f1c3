// Activations: Relu and its successors, Sigmoid, Tanh, Softplus and related functions. ONNX: versions as in
// the rows below.
#include <cmath>

#include "base/math.hpp"
#include "ops/elementwise/real_unary.hpp"
#include "ops/gradient.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

using kernels::Map;

constexpr double kExponential = 1;  // nanoseconds per element

double sigmoid(double x) { return x < 0 ? math::exp(x) / (1 + math::exp(x)) : 1 / (1 + math::exp(-x)); }
double softplus(double x) { return std::max(x, 0.0) + math::log1p(math::exp(-std::abs(x))); }
double between(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

Result<void> run_relu(Frame& frame) {
  const Array& in = frame.in(0);
  if (is_float(in.type()))
    return run_unary(frame, Map::relu, [](double x, double, double) { return x < 0 ? 0 : x; });
  if (!for_integer(in.type(), [](auto) {})) return wrong_type(frame, 0);
  Array* out = TRY(frame.out_over(0, 0, in.type(), in.dims()));
  for_integer(in.type(), [&]<class T>(T) {
    std::ranges::transform(in.elements<T>(), out->mutable_data<T>(), [](T x) { return x < 0 ? T(0) : x; });
  });
  return {};
}

Result<void> run_leaky_relu(Frame& frame) {
  return run_unary(
      frame, Map::leaky_relu, [](double x, double a, double) { return x < 0 ? a * x : x; },
      frame.real("alpha", 0.01));
}

Result<void> run_thresholded_relu(Frame& frame) {
  return run_unary(
      frame, Map::thresholded_relu, [](double x, double a, double) { return x > a ? x : 0; },
      frame.real("alpha", 1));
}

Result<void> run_elu(Frame& frame) {
  return run_unary(
      frame, Map::elu, [](double x, double a, double) { return x < 0 ? a * math::expm1(x) : x; },
      frame.real("alpha", 1), 0, kExponential);
}

Result<void> run_celu(Frame& frame) {
  return run_unary(
      frame, Map::celu, [](double x, double a, double) { return x < 0 ? a * math::expm1(x / a) : x; },
      frame.real("alpha", 1), 0, kExponential);
}

// Self-normalizing constants (SELU, Klambauer et al., 2017: mean 0, variance 1); version 1 had fewer digits.
Result<void> run_selu(Frame& frame) {
  const bool first = frame.version < 6;
  return run_unary(
      frame, Map::selu, [](double x, double a, double b) { return b * (x < 0 ? a * math::expm1(x) : x); },
      frame.real("alpha", first ? 1.6732 : 1.67326319217681884765625),
      frame.real("gamma", first ? 1.0507 : 1.05070102214813232421875), kExponential);
}

Result<void> run_hard_sigmoid(Frame& frame) {
  return run_unary(
      frame, Map::hard_sigmoid, [](double x, double a, double b) { return between(a * x + b, 0, 1); },
      frame.real("alpha", 0.2), frame.real("beta", 0.5));
}

Result<void> run_hard_swish(Frame& frame) {
  return run_unary(
      frame, Map::hard_swish, [](double x, double a, double b) { return x * between(a * x + b, 0, 1); },
      1.0 / 6, 0.5);
}

Result<void> run_sigmoid(Frame& frame) {
  return run_unary(
      frame, Map::sigmoid, [](double x, double, double) { return sigmoid(x); }, 0, 0, kExponential);
}

Result<void> run_swish(Frame& frame) {
  return run_unary(
      frame, Map::swish, [](double x, double a, double) { return x * sigmoid(a * x); },
      frame.real("alpha", 1), 0, kExponential);
}

Result<void> run_tanh(Frame& frame) {
  return run_unary(
      frame, Map::tanh, [](double x, double, double) { return math::tanh(x); }, 0, 0, kExponential);
}

Result<void> run_softplus(Frame& frame) {
  return run_unary(
      frame, Map::softplus, [](double x, double, double) { return softplus(x); }, 0, 0, kExponential);
}

Result<void> run_softsign(Frame& frame) {
  return run_unary(frame, Map::softsign, [](double x, double, double) { return x / (1 + std::abs(x)); });
}

Result<void> run_mish(Frame& frame) {
  return run_unary(
      frame, Map::mish, [](double x, double, double) { return x * math::tanh(softplus(x)); }, 0, 0,
      kExponential);
}

// dx = <Name>Gradient(dy, x), or of y where the slope follows from the result.
Result<void> slope_by_input(Gradient& g) { return gradient_by_input(g, g.node.op_type.str() + "Gradient"); }
Result<void> slope_by_output(Gradient& g) { return gradient_by_output(g, g.node.op_type.str() + "Gradient"); }

constexpr Descriptor activation(std::string_view name, Versions since, Run run,
                                Traits traits = of_each_element(), GradientRule gradient = slope_by_input) {
  return {.name = name,
          .domain = "",
          .since = since,
          .infer = infer_same,
          .run = run,
          .layouts = Layouts::each,
          .traits = traits,
          .gradient = gradient};
}

}  // namespace

std::span<const Descriptor> activation_descriptors() {
  static const Descriptor all[] = {
      activation("Celu", {12}, run_celu),
      activation("Elu", {1, 6, 22}, run_elu),
      activation("HardSigmoid", {1, 6, 22}, run_hard_sigmoid, of_each_element(Traits::Range{0.0f, 1.0f}),
                 slope_by_output),
      activation("HardSwish", {14, 22}, run_hard_swish),
      activation("LeakyRelu", {1, 6, 16}, run_leaky_relu),
      activation("Mish", {18, 22}, run_mish),
      activation("Relu", {1, 6, 13, 14}, run_relu,
                 {.role = Traits::Role::element,
                  .clamps = true,
                  .by_element = true,
                  .sign = Traits::Sign::positive,
                  .alias = "relu"},
                 slope_by_output),
      activation("Selu", {1, 6, 22}, run_selu, of_each_element().called("selu")),
      activation("Sigmoid", {1, 6, 13}, run_sigmoid,
                 of_each_element(Traits::Range{0.0f, 1.0f}).called("sigmoid"), slope_by_output),
      activation("Softplus", {1, 22}, run_softplus,
                 of_each_element().with_sign(Traits::Sign::positive).called("softplus")),
      activation("Softsign", {1, 22}, run_softsign,
                 of_each_element(Traits::Range{-1.0f, 1.0f}).called("softsign")),
      activation("Swish", {24}, run_swish, of_each_element().called("silu")),
      activation("Tanh", {1, 6, 13}, run_tanh, of_each_element(Traits::Range{-1.0f, 1.0f}).called("tanh"),
                 slope_by_output),
      activation("ThresholdedRelu", {10, 22}, run_thresholded_relu),
  };
  return all;
}

}  // namespace anybit::ops
