// Sin, Cos, Tan, their inverses and the hyperbolic ones: in double, rounded once. ONNX: versions 7 (circular)
// and 9 (hyperbolic), 22.

#include "base/math.hpp"
#include "ops/elementwise/real_unary.hpp"
#include "ops/gradient.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

using Double = double (*)(double);

template <Double kFunction>
Result<void> run(Frame& frame) {
  return run_exact(frame, [](double x, double, double) { return kFunction(x); });
}

// dy / f(x), dy · f(x)
std::string over(Gradient& g, const std::string& divisor) { return g.add("Div", {g.dy(), divisor}); }
std::string times(Gradient& g, const std::string& factor) { return g.add("Mul", {g.dy(), factor}); }
std::string squared(Gradient& g, const std::string& x) { return g.add("Mul", {x, x}); }
// sqrt(x² + c), sqrt(c - x²)
std::string root_of_sum(Gradient& g, double c) {
  return g.add("Sqrt", {g.add("Add", {squared(g, g.input(0)), g.number(c)})});
}
std::string root_of_difference(Gradient& g) {
  return g.add("Sqrt", {g.add("Sub", {g.number(1), squared(g, g.input(0))})});
}

Result<void> acos_gradient(Gradient& g) {
  g.set(0, g.add("Neg", {over(g, root_of_difference(g))}));
  return {};
}
Result<void> acosh_gradient(Gradient& g) {
  g.set(0, over(g, root_of_sum(g, -1)));
  return {};
}
Result<void> asin_gradient(Gradient& g) {
  g.set(0, over(g, root_of_difference(g)));
  return {};
}
Result<void> asinh_gradient(Gradient& g) {
  g.set(0, over(g, root_of_sum(g, 1)));
  return {};
}
Result<void> atan_gradient(Gradient& g) {
  g.set(0, over(g, g.add("Add", {squared(g, g.input(0)), g.number(1)})));
  return {};
}
Result<void> atanh_gradient(Gradient& g) {
  g.set(0, over(g, g.add("Sub", {g.number(1), squared(g, g.input(0))})));
  return {};
}
Result<void> cos_gradient(Gradient& g) {
  g.set(0, g.add("Neg", {times(g, g.add("Sin", {g.input(0)}))}));
  return {};
}
Result<void> cosh_gradient(Gradient& g) {
  g.set(0, times(g, g.add("Sinh", {g.input(0)})));
  return {};
}
Result<void> sin_gradient(Gradient& g) {
  g.set(0, times(g, g.add("Cos", {g.input(0)})));
  return {};
}
Result<void> sinh_gradient(Gradient& g) {
  g.set(0, times(g, g.add("Cosh", {g.input(0)})));
  return {};
}
Result<void> tan_gradient(Gradient& g) {
  g.set(0, times(g, g.add("Add", {squared(g, g.output()), g.number(1)})));
  return {};
}

constexpr Descriptor function(std::string_view name, std::int16_t since, Run run, GradientRule gradient,
                              Traits traits = of_each_element({}, true)) {
  return {.name = name,
          .domain = "",
          .since = {since, 22},
          .infer = infer_same,
          .run = run,
          .layouts = Layouts::each,
          .traits = traits,
          .gradient = gradient};
}

}  // namespace

std::span<const Descriptor> trigonometry_descriptors() {
  static const Descriptor all[] = {
      function("Acos", 7, run<math::acos>, acos_gradient),
      function("Acosh", 9, run<math::acosh>, acosh_gradient),
      function("Asin", 7, run<math::asin>, asin_gradient),
      function("Asinh", 9, run<math::asinh>, asinh_gradient),
      function("Atan", 7, run<math::atan>, atan_gradient),
      function("Atanh", 9, run<math::atanh>, atanh_gradient),
      function("Cos", 7, run<math::cos>, cos_gradient, of_each_element(Traits::Range{-1.0f, 1.0f}, true)),
      function("Cosh", 9, run<math::cosh>, cosh_gradient),
      function("Sin", 7, run<math::sin>, sin_gradient, of_each_element(Traits::Range{-1.0f, 1.0f}, true)),
      function("Sinh", 9, run<math::sinh>, sinh_gradient),
      function("Tan", 7, run<math::tan>, tan_gradient),
  };
  return all;
}

}  // namespace anybit::ops
