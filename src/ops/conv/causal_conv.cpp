// CausalConvWithState: depthwise convolution of a sequence with its own past; the state carries the past from
// call to call. ONNX: CausalConvWithState-27.
#include "kernels/conv/activation.hpp"
#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  Values values = outputs_of(call, tensor(call.in(0).type, call.in(0).shape));
  if (values.size() > 1) {
    const auto &x = call.in(0).shape, &w = call.in(1).shape;
    values[1] = tensor(call.in(0).type, unknown_shape(3));
    if (x && w && x->size() == 3 && w->size() == 3)
      values[1].shape = Shape{(*x)[0], (*x)[1], (*w)[2] - Dim(1)};
  }
  return values;
}

Dim macs(const Call& call, std::span<const Value> outputs) {
  const auto& w = call.in(1).shape;
  if (!w || w->size() != 3 || outputs.empty() || !outputs[0].shape) return {};
  return product(*outputs[0].shape) * (*w)[2];
}

Result<void> check(const Frame& frame) {
  const Array &x = frame.in(0), &w = frame.in(1);
  for (std::size_t i = 1; i < 4; ++i) {
    if (frame.has(i) && frame.in(i).type() != x.type()) return wrong_type(frame, i);
  }
  if (x.rank() != 3 || w.rank() != 3 || w.dim(0) != x.dim(1) || w.dim(1) != 1 || w.dim(2) < 1) {
    return wrong(fmt::format("the input is {}, the weight {}", to_string(x), to_string(w)),
                 "[batch, channels, length] and [channels, 1, kernel]");
  }
  if (frame.has(2) && !(frame.in(2).dims() == Dims{x.dim(1)}))
    return wrong(fmt::format("the bias is {}", to_string(frame.in(2))), "one for each channel");
  const Dims state{x.dim(0), x.dim(1), w.dim(2) - 1};
  if (frame.has(3) && !(frame.in(3).dims() == state))
    return wrong(fmt::format("the past state is {}", to_string(frame.in(3))), to_string(state));
  return {};
}

template <class T>
Result<void> run_as(Frame& frame, const kernels::Activation& activation) {
  using Real = Computed<T>;
  const Array& x = frame.in(0);
  const std::int64_t channels = x.dim(1), length = x.dim(2), kernel = frame.in(1).dim(2), past = kernel - 1;
  Array* out = TRY(frame.out(0, x.type(), x.dims()));
  Array* state = frame.wants(1) ? TRY(frame.out(1, x.type(), {x.dim(0), channels, past})) : nullptr;
  const T* before = frame.has(3) ? frame.in(3).data<T>() : nullptr;
  const double cost = static_cast<double>(length) * static_cast<double>(kernel);
  parallel(frame, x.dim(0) * channels, cost, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      // Position 0 is the oldest of the past state.
      const auto at = [&](std::int64_t t) {
        if (t >= past) return x.data<T>()[i * length + t - past];
        return before ? before[i * past + t] : T(0.0f);
      };
      const T* w = frame.in(1).data<T>() + i % channels * kernel;
      for (std::int64_t t = 0; t < length; ++t) {
        Real sum = frame.has(2) ? static_cast<Real>(frame.in(2).data<T>()[i % channels]) : Real(0);
        for (std::int64_t k = 0; k < kernel; ++k) {
          sum += static_cast<Real>(w[k]) * static_cast<Real>(at(t + k));
        }
        out->mutable_data<T>()[i * length + t] = static_cast<T>(kernels::activate(activation, sum));
      }
      for (std::int64_t t = 0; state && t < past; ++t)
        state->mutable_data<T>()[i * past + t] = at(length + t);
    }
  });
  return {};
}

Result<void> run(Frame& frame) {
  TRY(check(frame));
  const std::string_view name = frame.text("activation", "none");
  const bool swish = name == "silu" || name == "swish";
  if (!swish && name != "none")
    return wrong(fmt::format("the activation is '{}'", name), "silu, swish, none");
  const kernels::Activation activation{swish ? kernels::Activation::Kind::silu
                                             : kernels::Activation::Kind::none};
  Result<void> done;
  if (!for_real(frame.in(0).type(), [&]<class T>(T) { done = run_as<T>(frame, activation); }))
    return wrong_type(frame, 0);
  return done;
}

}  // namespace

std::span<const Descriptor> causal_conv_descriptors() {
  static const Descriptor all[] = {
      {.name = "CausalConvWithState",
       .domain = "",
       .since = {27},
       .infer = infer,
       .macs = macs,
       .run = run,
       .required = 2,
       .traits = {.role = Traits::Role::compute, .data = {0, 1}, .weights = {{1, first_axis}}, .bias = 2}}};
  return all;
}

}  // namespace anybit::ops
