// Add, Sub, Mul, Div, with broadcasting. ONNX: versions 1, 6, 7, 13, 14.
#include "ops/elementwise/binary_functions.hpp"
#include "ops/gradient.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Dim add(const Dim& a, const Dim& b) { return a + b; }
Dim subtract(const Dim& a, const Dim& b) { return a - b; }
Dim multiply(const Dim& a, const Dim& b) { return a * b; }

// Exact quotients only: ONNX truncates integer quotients, but not real ones.
Dim divide(const Dim& a, const Dim& b) {
  if (b.is(1)) return a;
  const bool exact = a.known() && b.known() && *b.size > 0 && *a.size % *b.size == 0;
  return exact ? Dim(*a.size / *b.size) : Dim();
}

Dim divide_integers(const Dim& a, const Dim& b) {
  return a.known() && *a.size >= 0 ? floor_div(a, b) : divide(a, b);
}

template <Combine kFold>
Result<Values> infer_folded(const Call& call) {
  return infer_binary(call, kFold);
}
Result<Values> infer_div(const Call& call) {
  return infer_binary(call, is_float(call.in(0).type) ? divide : divide_integers);
}

template <class F, kernels::FloatBinaryRun kKernel>
Result<void> run(Frame& frame) {
  const ElementType type = frame.in(0).type();
  const BinaryRow row = number_row<F, kKernel>(type);
  if (!row) return wrong_type(frame, 0);
  return run_binary(frame, 0, 1, type, row);
}

constexpr Traits kTraits{.role = Traits::Role::compute, .data = {0, 1}, .by_element = true};

Result<void> add_gradient(Gradient& g) {
  g.set(0, g.dy());
  g.set(1, g.dy());
  return {};
}

Result<void> subtract_gradient(Gradient& g) {
  g.set(0, g.dy());
  if (g.wants(1)) g.set(1, g.add("Neg", {g.dy()}));
  return {};
}

Result<void> multiply_gradient(Gradient& g) {
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (g.wants(i)) g.set(i, g.add("Mul", {g.dy(), g.input(1 - i)}));
  }
  return {};
}

// d(a / b) = da / b - db · y / b
Result<void> divide_gradient(Gradient& g) {
  const std::string quotient = g.add("Div", {g.dy(), g.input(1)});
  g.set(0, quotient);
  if (g.wants(1)) g.set(1, g.add("Neg", {g.add("Mul", {quotient, g.output()})}));
  return {};
}

constexpr Descriptor arithmetic(std::string_view name, Infer infer, Run run, Traits traits,
                                GradientRule gradient) {
  return {.name = name,
          .domain = "",
          .since = {1, 6, 7, 13, 14},
          .infer = infer,
          .run = run,
          .required = 2,
          .layouts = Layouts::each,
          .traits = traits,
          .gradient = gradient};
}

}  // namespace

std::span<const Descriptor> arithmetic_descriptors() {
  static const Descriptor all[] = {
      arithmetic("Add", infer_folded<add>, run<AddPair, kernels::add>,
                 kTraits.called("add").with_sign(Traits::Sign::of_inputs), add_gradient),
      arithmetic("Sub", infer_folded<subtract>, run<SubtractPair, kernels::subtract>, kTraits.called("sub"),
                 subtract_gradient),
      arithmetic("Mul", infer_folded<multiply>, run<MultiplyPair, kernels::multiply>,
                 kTraits.called("mul").with_sign(Traits::Sign::of_inputs), multiply_gradient),
      arithmetic("Div", infer_div, run<DividePair, kernels::divide>, kTraits, divide_gradient),
  };
  return all;
}

}  // namespace anybit::ops
