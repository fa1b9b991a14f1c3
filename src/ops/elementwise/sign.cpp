// Abs, Neg, Sign, and Ceil, Floor, Round (half to even). ONNX: versions 1, 6, 9, 11, 13, 22.
#include <cmath>

#include "ops/elementwise/real_unary.hpp"
#include "ops/gradient.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

using kernels::Map;

// Integer types by F, which wraps around.
template <class F>
Result<void> run_integers(Frame& frame, const F& f) {
  const Array& in = frame.in(0);
  if (!for_integer(in.type(), [](auto) {})) return wrong_type(frame, 0);
  Array* out = TRY(frame.out_over(0, 0, in.type(), in.dims()));
  for_integer(in.type(),
              [&]<class T>(T) { std::ranges::transform(in.elements<T>(), out->mutable_data<T>(), f); });
  return {};
}

// -x; the lowest integer is its own negation.
template <class T>
T opposite(T x) {
  return static_cast<T>(std::uint64_t{0} - static_cast<std::uint64_t>(x));
}

Result<void> run_abs(Frame& frame) {
  if (!is_float(frame.in(0).type()))
    return run_integers(frame, []<class T>(T x) { return x < 0 ? opposite(x) : x; });
  return run_unary(frame, Map::absolute, [](double x, double, double) { return std::abs(x); });
}

Result<void> run_neg(Frame& frame) {
  if (!is_float(frame.in(0).type())) return run_integers(frame, []<class T>(T x) { return opposite(x); });
  return run_unary(frame, Map::negative, [](double x, double, double) { return -x; });
}

Result<void> run_sign(Frame& frame) {
  if (!is_float(frame.in(0).type())) {
    return run_integers(frame, []<class T>(T x) { return static_cast<T>((x > 0) - (x < 0)); });
  }
  return run_unary(frame, Map::sign, [](double x, double, double) { return x > 0 ? 1 : x < 0 ? -1 : x; });
}

Result<void> run_ceil(Frame& frame) {
  return run_unary(frame, Map::ceil, [](double x, double, double) { return std::ceil(x); });
}
Result<void> run_floor(Frame& frame) {
  return run_unary(frame, Map::floor, [](double x, double, double) { return std::floor(x); });
}
Result<void> run_round(Frame& frame) {
  return run_unary(frame, Map::round, [](double x, double, double) { return std::nearbyint(x); });
}

Result<void> abs_gradient(Gradient& g) {
  g.set(0, g.add("Mul", {g.dy(), g.add("Sign", {g.input(0)})}));
  return {};
}
Result<void> neg_gradient(Gradient& g) {
  g.set(0, g.add("Neg", {g.dy()}));
  return {};
}

constexpr Descriptor function(std::string_view name, Versions since, Run run, GradientRule gradient,
                              Traits traits = of_each_element()) {
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

std::span<const Descriptor> sign_descriptors() {
  static const Descriptor all[] = {
      function("Abs", {1, 6, 13}, run_abs, abs_gradient, of_each_element().with_sign(Traits::Sign::positive)),
      function("Ceil", {1, 6, 13}, run_ceil, no_gradient),
      function("Floor", {1, 6, 13}, run_floor, no_gradient),
      function("Neg", {1, 6, 13}, run_neg, neg_gradient),
      function("Round", {11, 22}, run_round, no_gradient),
      function("Sign", {9, 13}, run_sign, no_gradient, of_each_element(Traits::Range{-1.0f, 1.0f})),
  };
  return all;
}

}  // namespace anybit::ops
