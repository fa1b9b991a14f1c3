// Sin, Cos, Tan, their inverses and the hyperbolic ones: in double, rounded once. ONNX: versions 7 (circular)
// and 9 (hyperbolic), 22.

#include "base/math.hpp"
#include "ops/elementwise/real_unary.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

using Double = double (*)(double);

template <Double kFunction>
Result<void> run(Frame& frame) {
  return run_exact(frame, [](double x, double, double) { return kFunction(x); });
}

constexpr Descriptor function(std::string_view name, std::int16_t since, Run run,
                              Traits traits = of_each_element({}, true)) {
  return {.name = name,
          .domain = "",
          .since = {since, 22},
          .infer = infer_same,
          .run = run,
          .layouts = Layouts::each,
          .traits = traits};
}

}  // namespace

std::span<const Descriptor> trigonometry_descriptors() {
  static const Descriptor all[] = {
      function("Acos", 7, run<math::acos>),
      function("Acosh", 9, run<math::acosh>),
      function("Asin", 7, run<math::asin>),
      function("Asinh", 9, run<math::asinh>),
      function("Atan", 7, run<math::atan>),
      function("Atanh", 9, run<math::atanh>),
      function("Cos", 7, run<math::cos>, of_each_element(Traits::Range{-1.0f, 1.0f}, true)),
      function("Cosh", 9, run<math::cosh>),
      function("Sin", 7, run<math::sin>, of_each_element(Traits::Range{-1.0f, 1.0f}, true)),
      function("Sinh", 9, run<math::sinh>),
      function("Tan", 7, run<math::tan>),
  };
  return all;
}

}  // namespace anybit::ops
