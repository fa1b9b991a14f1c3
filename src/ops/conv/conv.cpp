// Conv: convolution over spatial axes. ONNX: Conv-1, -11, -22; ONNX Runtime's FusedConv, which adds a tensor
// and applies an activation. float32 runs in blocked layout (ops/conv/conv_blocked.hpp); as GEMM if the
// channels of groups do not fit it, or if results have to be reproducible; everything else as direct loops.
#include "kernels/conv/conv_direct.hpp"
#include "ops/check.hpp"
#include "ops/conv/conv_blocked.hpp"
#include "ops/conv/conv_call.hpp"
#include "ops/conv/conv_gemm.hpp"
#include "ops/conv/conv_rules.hpp"
#include "ops/conv/window.hpp"
#include "ops/gradient.hpp"
#include "ops/layout.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  auto shape = TRY(conv_shape(call, call.in(0), call.in(1)));
  if (call.has(3)) shape = TRY(broadcast(shape, call.in(3).shape));  // the addend of FusedConv
  return outputs_of(call, tensor(call.in(0).type, std::move(shape)));
}
Dim macs(const Call& call, std::span<const Value> outputs) { return conv_macs(call.in(1), outputs); }

struct ConvPrepared : Prepared {
  std::unique_ptr<const BlockedConv> blocked;
  ConvMatrices matrices;  // without a blocked kernel; empty for one channel per group
  std::int64_t bytes() const override { return bytes_of_all(matrices.groups); }
};

Result<std::shared_ptr<const Prepared>> prepare(const Setup& setup) {
  const Array* w = setup.constant(1);
  if (!w || w->type() != ElementType::float32) return std::shared_ptr<const Prepared>();
  const auto given = [&](std::size_t i) {
    return i < setup.node.inputs.size() && !setup.node.inputs[i].empty();
  };
  auto prepared = std::make_shared<ConvPrepared>();
  prepared->blocked = TRY(BlockedConv::make(setup, *setup.memory, *w, setup.constant(2), given(2), given(3),
                                            TRY(activation_of(setup))));
  const auto sizes = weight_sizes(setup, w->dims());
  if (!prepared->blocked && sizes && sizes->in_per_group() > 1) {
    prepared->matrices = conv_matrices(*sizes, *w);
  }
  return std::shared_ptr<const Prepared>(std::move(prepared));
}

Result<void> check(const Frame& frame, const kernels::ConvSizes& sizes) {
  const Array& x = frame.in(0);
  if (frame.in(1).type() != x.type()) return wrong_type(frame, 1);
  if (frame.has(2)) TRY(check_bias(frame.in(2), x.type(), sizes.out_channels));
  if (frame.has(3) && frame.in(3).type() != x.type()) return wrong_type(frame, 3);
  return {};
}

// act(conv + z) where the two have different shapes; `conv` is the result of the convolution.
template <class T>
Result<void> spread_sum(Frame& frame, const Array& conv, const kernels::Activation& activation) {
  TRY(frame.make_plain(3));
  const Array& z = frame.in(3);
  const Dims dims = TRY(broadcast_dims(conv.dims(), z.dims()));
  Array* out = TRY(frame.out(0, z.type(), dims));
  const Dims conv_strides = broadcast_strides(conv.dims(), dims),
             z_strides = broadcast_strides(z.dims(), dims);
  for (std::int64_t i = 0; i < out->count(); ++i) {
    std::int64_t rest = i, from_conv = 0, from_z = 0;
    for (std::size_t axis = dims.size(); axis-- > 0; rest /= dims[axis]) {
      from_conv += rest % dims[axis] * conv_strides[axis];
      from_z += rest % dims[axis] * z_strides[axis];
    }
    const auto sum =
        static_cast<Computed<T>>(conv.data<T>()[from_conv]) + static_cast<Computed<T>>(z.data<T>()[from_z]);
    out->mutable_data<T>()[i] = static_cast<T>(kernels::activate(activation, sum));
  }
  return {};
}

template <class T>
Result<void> run_direct(Frame& frame, const kernels::ConvSizes& sizes,
                        const kernels::Activation& activation) {
  using Sum = Computed<T>;
  const Array x = TRY(in_layout(frame, frame.in(0), Layout::plain));
  const Array w = TRY(in_layout(frame, frame.in(1), Layout::plain));
  const Array bias = TRY(in_layout(frame, frame.in(2), Layout::plain));
  const Dims dims = output_dims(sizes.batch, sizes.out_channels, sizes.window, x.rank());
  const bool spread = frame.has(3) && !(frame.in(3).dims() == dims);
  const Array added = frame.has(3) && !spread ? TRY(in_layout(frame, frame.in(3), Layout::plain)) : Array();
  Array conv =
      spread ? TRY(scratch_array(frame, x.type(), dims, Layout::plain)) : *TRY(frame.out(0, x.type(), dims));
  T* y = conv.mutable_data<T>();
  const auto value = [](T one) { return static_cast<Sum>(one); };
  const auto finish = [&](Sum sum, std::int64_t channel, std::int64_t i) {
    if (frame.has(2)) sum += static_cast<Sum>(bias.data<T>()[channel]);
    if (added.count() > 0) sum += static_cast<Sum>(added.data<T>()[i]);
    y[i] = static_cast<T>(spread ? sum : kernels::activate(activation, sum));
  };
  const auto body = [&](std::int64_t first, std::int64_t last) {
    kernels::conv_direct<Sum>(
        sizes, x.data<T>(), w.data<T>(), first, last, value, [&](T one, std::int64_t) { return value(one); },
        finish);
  };
  const double cost = static_cast<double>(sizes.depth() * sizes.window[2].output);
  parallel(frame, sizes.rows(), cost, [&body](std::int64_t a, std::int64_t b) { body(a, b); });
  return spread ? spread_sum<T>(frame, conv, activation) : Result<void>();
}

Result<void> run(Frame& frame) {
  const Array& x = frame.in(0);
  const kernels::ConvSizes sizes = TRY(conv_sizes(frame, x.dims(), frame.in(1).dims()));
  TRY(check(frame, sizes));
  const auto* prepared = frame.prepared<ConvPrepared>();
  if (!prepared || !prepared->blocked || !prepared->blocked->takes_start()) TRY(frame.apply_start());
  const kernels::Activation activation = TRY(activation_of(frame));
  const Dims dims = output_dims(sizes.batch, sizes.out_channels, sizes.window, x.rank());
  const bool even = !frame.has(3) || frame.in(3).dims() == dims;
  if (!even) TRY(broadcast_dims(dims, frame.in(3).dims()));
  if (dims.count() == 0 && even) {
    TRY(frame.out(0, x.type(), dims));
    return {};
  }
  if (x.type() == ElementType::float32 && even) {
    if (prepared && prepared->blocked && TRY(prepared->blocked->run(frame, sizes, frame.in(1)))) return {};
    if (!prepared && !only_checks(frame)) {  // weights that change from run to run
      TRY(frame.make_plain(1));
      const auto blocked = TRY(BlockedConv::make(frame, frame.memory(), frame.in(1), nullptr, frame.has(2),
                                                 frame.has(3), activation));
      if (blocked && TRY(blocked->run(frame, sizes, frame.in(1)))) return {};
    }
    const bool packed = prepared && !prepared->matrices.groups.empty();
    if (sizes.in_per_group() > 1)
      return run_conv_gemm(frame, sizes, packed ? &prepared->matrices : nullptr, activation);
  }
  Result<void> done;
  if (!for_real(x.type(), [&]<class T>(T) { done = run_direct<T>(frame, sizes, activation); }))
    return wrong_type(frame, 0);
  return done;
}

Result<void> gradient(Gradient& g) {
  if (!g.out().shape) return wrong("the rank of its output is not known before the model runs");
  const auto attributes =
      attributes_of(g, {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"});
  if (g.wants(0))
    g.set(0, g.add("ConvGradientInput", {g.dy(), g.input(1), g.shape(g.input(0))}, attributes, kTraining));
  if (g.wants(1))
    g.set(1, g.add("ConvGradientWeight", {g.dy(), g.input(0), g.shape(g.input(1))}, attributes, kTraining));
  if (g.wants(2)) g.set(2, g.add("ChannelSum", {g.dy()}, {}, kTraining));
  return {};
}

}  // namespace

std::span<const Descriptor> conv_descriptors() {
  static const Descriptor all[] = {
      {.name = "Conv",
       .domain = "",
       .since = {1, 11, 22},
       .infer = infer,
       .macs = macs,
       .run = run,
       .prepare = prepare,
       .required = 2,
       .layouts = Layouts::each,
       .traits = {.role = Traits::Role::compute,
                  .data = {0, 1},
                  .weights = {{1, first_axis}},
                  .bias = 2,
                  .linear = Traits::Linear::convolution},
       .gradient = gradient},
      {.name = "FusedConv",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer,
       .macs = macs,
       .run = run,
       .prepare = prepare,
       .required = 2,
       .layouts = Layouts::each,
       .traits = {.role = Traits::Role::compute,
                  .data = {0, 1, 3},
                  .weights = {{1, first_axis}},
                  .bias = 2,
                  .linear = Traits::Linear::convolution}},
  };
  return all;
}

}  // namespace anybit::ops
