// Exp, Log, Sqrt, Reciprocal, Erf. ONNX: versions 1, 6, 13; Erf-9, -13.
#include <cmath>

#include "base/math.hpp"
#include "ops/elementwise/real_unary.hpp"
#include "ops/gradient.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

using kernels::Map;

Result<void> run_exp(Frame& frame) {
  return run_unary(
      frame, Map::exp, [](double x, double, double) { return math::exp(x); }, 0, 0, 1);
}
Result<void> run_log(Frame& frame) {
  return run_unary(
      frame, Map::log, [](double x, double, double) { return math::log(x); }, 0, 0, 1);
}
Result<void> run_sqrt(Frame& frame) {
  return run_unary(frame, Map::sqrt, [](double x, double, double) { return std::sqrt(x); });
}
Result<void> run_reciprocal(Frame& frame) {
  return run_unary(frame, Map::reciprocal, [](double x, double, double) { return 1 / x; });
}

// ONNX has Erf for integers too; results are truncated.
Result<void> run_erf(Frame& frame) {
  const Array& in = frame.in(0);
  if (is_float(in.type())) {
    return run_unary(
        frame, Map::erf, [](double x, double, double) { return math::erf(x); }, 0, 0, 1);
  }
  if (!for_integer(in.type(), [](auto) {})) return wrong_type(frame, 0);
  Array* out = TRY(frame.out_over(0, 0, in.type(), in.dims()));
  for_integer(in.type(), [&]<class T>(T) {
    std::ranges::transform(in.elements<T>(), out->mutable_data<T>(),
                           [](T x) { return static_cast<T>(math::erf(static_cast<double>(x))); });
  });
  return {};
}

Result<void> erf_gradient(Gradient& g) { return gradient_by_input(g, "ErfGradient"); }
Result<void> exp_gradient(Gradient& g) {
  g.set(0, g.add("Mul", {g.dy(), g.output()}));
  return {};
}
Result<void> log_gradient(Gradient& g) {
  g.set(0, g.add("Div", {g.dy(), g.input(0)}));
  return {};
}
Result<void> reciprocal_gradient(Gradient& g) {
  g.set(0, g.add("Mul", {g.add("Mul", {g.dy(), g.output()}), g.add("Neg", {g.output()})}));
  return {};
}
Result<void> sqrt_gradient(Gradient& g) {
  g.set(0, g.add("Mul", {g.add("Div", {g.dy(), g.output()}), g.number(0.5)}));
  return {};
}

constexpr Descriptor function(std::string_view name, Versions since, Run run, GradientRule gradient,
                              Traits traits = of_each_element({}, true)) {
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

std::span<const Descriptor> exponential_descriptors() {
  static const Descriptor all[] = {
      function("Erf", {9, 13}, run_erf, erf_gradient, of_each_element(Traits::Range{-1.0f, 1.0f})),
      function("Exp", {1, 6, 13}, run_exp, exp_gradient,
               of_each_element({}, true).with_sign(Traits::Sign::positive)),
      function("Log", {1, 6, 13}, run_log, log_gradient),
      function("Reciprocal", {1, 6, 13}, run_reciprocal, reciprocal_gradient),
      function("Sqrt", {1, 6, 13}, run_sqrt, sqrt_gradient,
               of_each_element({}, true).with_sign(Traits::Sign::positive)),
  };
  return all;
}

}  // namespace anybit::ops
