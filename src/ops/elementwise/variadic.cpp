// Max, Min, Sum, Mean of any number of tensors with broadcasting. ONNX: versions 1, 6, 8, 12, 13.
#include <algorithm>

#include "ops/elementwise/binary_functions.hpp"
#include "ops/gradient.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Dim add(const Dim& a, const Dim& b) { return a + b; }
Dim smaller(const Dim& a, const Dim& b) {
  return a.known() && b.known() ? Dim(std::min(*a.size, *b.size)) : Dim();
}
Dim larger(const Dim& a, const Dim& b) {
  return a.known() && b.known() ? Dim(std::max(*a.size, *b.size)) : Dim();
}

// Before version 8 the shapes had to be equal; broadcasting is accepted there, too.
template <Combine kFold>
Result<Values> infer(const Call& call) {
  return infer_all(call, kFold);
}
Result<Values> infer_mean(const Call& call) { return infer_all(call, nullptr); }

// Accumulates the inputs in the output, which the first two initialize.
Result<Array*> accumulate(Frame& frame, BinaryRow row) {
  const std::size_t count = frame.input_count();
  for (std::size_t i = 0; i < count; ++i) {
    TRY(frame.make_plain(i));
    if (!frame.has(i) || frame.in(i).type() != frame.in(0).type()) return wrong_type(frame, i);
  }
  Dims dims = frame.in(0).dims();
  for (std::size_t i = 1; i < count; ++i) dims = TRY(broadcast_dims(dims, frame.in(i).dims()));
  const Array &first = frame.in(0), &second = frame.in(1);
  Array* out = TRY(frame.out(0, first.type(), dims));
  run_binary_into(frame, first, first.dims(), second, second.dims(), *out, row);
  for (std::size_t i = 2; i < count; ++i) {
    run_binary_into(frame, *out, dims, frame.in(i), frame.in(i).dims(), *out, row);
  }
  return out;
}

template <class F, kernels::FloatBinaryRun kKernel>
Result<void> run(Frame& frame) {
  const ElementType type = frame.in(0).type();
  const BinaryRow row = number_row<F, kKernel>(type);
  if (!row) return wrong_type(frame, 0);
  if (frame.input_count() == 1) return frame.share(0, 0, frame.in(0).dims());
  if (frame.input_count() == 2 && frame.has(1)) return run_binary(frame, 0, 1, type, row);
  TRY(accumulate(frame, row));
  return {};
}

Result<void> run_mean(Frame& frame) {
  const ElementType type = frame.in(0).type();
  const BinaryRow row = number_row<AddPair, kernels::add>(type);
  if (!row || !is_float(type)) return wrong_type(frame, 0);
  if (frame.input_count() == 1) return frame.share(0, 0, frame.in(0).dims());
  Array* out = TRY(accumulate(frame, row));
  for_real(type, [&]<class T>(T) {
    const auto count = static_cast<Computed<T>>(frame.input_count());
    for (T& element : out->elements<T>()) element = static_cast<T>(static_cast<Computed<T>>(element) / count);
  });
  return {};
}

// Inputs that share the extreme share its gradient, as in PyTorch.
Result<void> extreme_gradient(Gradient& g) {
  std::vector<std::string> chosen;
  for (const std::string& input : g.node.inputs)
    chosen.push_back(as_numbers(g, g.add("Equal", {input, g.output()})));
  const std::string share = g.add("Div", {g.dy(), g.add("Sum", chosen)});
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (g.wants(i)) g.set(i, g.add("Mul", {share, chosen[i]}));
  }
  return {};
}

Result<void> sum_gradient(Gradient& g) {
  for (std::size_t i = 0; i < g.node.inputs.size(); ++i) g.set(i, g.dy());
  return {};
}

Result<void> mean_gradient(Gradient& g) {
  const auto count = static_cast<double>(g.node.inputs.size());
  const std::string share = g.add("Mul", {g.dy(), g.number(1 / count)});
  for (std::size_t i = 0; i < g.node.inputs.size(); ++i) g.set(i, share);
  return {};
}

}  // namespace

std::span<const Descriptor> variadic_descriptors() {
  static const Descriptor all[] = {
      {.name = "Max",
       .domain = "",
       .since = {1, 6, 8, 12, 13},
       .infer = infer<larger>,
       .run = run<LargerPair, kernels::larger>,
       .layouts = Layouts::each,
       .traits =
           {.role = Traits::Role::compute, .data = {-1}, .by_element = true, .sign = Traits::Sign::of_inputs},
       .gradient = extreme_gradient},
      {.name = "Min",
       .domain = "",
       .since = {1, 6, 8, 12, 13},
       .infer = infer<smaller>,
       .run = run<SmallerPair, kernels::smaller>,
       .layouts = Layouts::each,
       .traits = {.role = Traits::Role::compute, .data = {-1}, .by_element = true},
       .gradient = extreme_gradient},
      {.name = "Sum",
       .domain = "",
       .since = {1, 6, 8, 13},
       .infer = infer<add>,
       .run = run<AddPair, kernels::add>,
       .layouts = Layouts::each,
       .traits = computes({-1}),
       .gradient = sum_gradient},
      {.name = "Mean",
       .domain = "",
       .since = {1, 6, 8, 13},
       .infer = infer_mean,
       .run = run_mean,
       .traits = computes({-1}),
       .gradient = mean_gradient},
  };
  return all;
}

}  // namespace anybit::ops
