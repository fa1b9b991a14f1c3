// Sin, Cos, Tan, their inverses and the hyperbolic ones: in double, rounded once. ONNX: versions 7 (circular)
// and 9 (hyperbolic), 22.
#include <cmath>

#include "ops/map_real.hpp"
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
      function("Acos", 7, run<std::acos>),
      function("Acosh", 9, run<std::acosh>),
      function("Asin", 7, run<std::asin>),
      function("Asinh", 9, run<std::asinh>),
      function("Atan", 7, run<std::atan>),
      function("Atanh", 9, run<std::atanh>),
      function("Cos", 7, run<std::cos>, of_each_element(Traits::Range{-1.0f, 1.0f}, true)),
      function("Cosh", 9, run<std::cosh>),
      function("Sin", 7, run<std::sin>, of_each_element(Traits::Range{-1.0f, 1.0f}, true)),
      function("Sinh", 9, run<std::sinh>),
      function("Tan", 7, run<std::tan>),
  };
  return all;
}

}  // namespace anybit::ops
