// Conv: sliding dot products over spatial axes. ONNX: Conv-1, -11, -22; ONNX Runtime's FusedConv, which adds
// a tensor and applies an activation. float32 with constant weights runs on blocked tensors
// (ops/conv_blocked.hpp), everything else from the definition.
#include "kernels/conv_direct.hpp"
#include "ops/conv_blocked.hpp"
#include "ops/conv_call.hpp"
#include "ops/conv_rules.hpp"
#include "ops/layout.hpp"
#include "ops/rules.hpp"
#include "ops/window.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  return outputs_of(call, tensor(call.in(0).type, TRY(conv_shape(call, call.in(0), call.in(1)))));
}
Dim macs(const Call& call, std::span<const Value> outputs) { return conv_macs(call.in(1), outputs); }

struct ConvPrepared : Prepared {
  std::unique_ptr<const BlockedConv> blocked;
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
  return std::shared_ptr<const Prepared>(std::move(prepared));
}

Result<void> check(const Frame& frame, const kernels::ConvSizes& sizes) {
  const Array& x = frame.in(0);
  if (frame.in(1).type() != x.type()) return wrong_type(frame, 1);
  if (frame.has(2)) TRY(check_bias(frame.in(2), x.type(), sizes.out_channels));
  if (!frame.has(3)) return {};
  const Dims dims = output_dims(sizes.batch, sizes.out_channels, sizes.window, x.rank());
  if (frame.in(3).type() == x.type() && frame.in(3).dims() == dims) return {};
  return wrong(fmt::format("what is added is {}", to_string(frame.in(3))),
               fmt::format("{}{}", graph::name_of(x.type()), to_string(dims)));
}

template <class T>
Result<void> run_direct(Frame& frame, const kernels::ConvSizes& sizes) {
  using Sum = Computed<T>;
  const kernels::Activation activation = TRY(activation_of(frame));
  const Array x = TRY(in_layout(frame, frame.in(0), Layout::plain));
  const Array w = TRY(in_layout(frame, frame.in(1), Layout::plain));
  const Array bias = TRY(in_layout(frame, frame.in(2), Layout::plain));
  const Array added = TRY(in_layout(frame, frame.in(3), Layout::plain));
  Array* out =
      TRY(frame.out(0, x.type(), output_dims(sizes.batch, sizes.out_channels, sizes.window, x.rank())));
  T* y = out->mutable_data<T>();
  const auto value = [](T one) { return static_cast<Sum>(one); };
  const auto finish = [&](Sum sum, std::int64_t channel, std::int64_t i) {
    if (frame.has(2)) sum += static_cast<Sum>(bias.data<T>()[channel]);
    if (frame.has(3)) sum += static_cast<Sum>(added.data<T>()[i]);
    y[i] = static_cast<T>(kernels::activate(activation, sum));
  };
  const auto body = [&](std::int64_t first, std::int64_t last) {
    kernels::conv_direct<Sum>(
        sizes, x.data<T>(), w.data<T>(), first, last, value, [&](T one, std::int64_t) { return value(one); },
        finish);
  };
  const double cost = static_cast<double>(sizes.depth() * sizes.window[2].output);
  parallel(frame, sizes.rows(), cost, [&body](std::int64_t a, std::int64_t b) { body(a, b); });
  return {};
}

Result<void> run(Frame& frame) {
  const Array& x = frame.in(0);
  const kernels::ConvSizes sizes = TRY(conv_sizes(frame, x.dims(), frame.in(1).dims()));
  TRY(check(frame, sizes));
  const Dims dims = output_dims(sizes.batch, sizes.out_channels, sizes.window, x.rank());
  if (dims.count() == 0) {
    TRY(frame.out(0, x.type(), dims));
    return {};
  }
  const auto* prepared = frame.prepared<ConvPrepared>();
  if (prepared && prepared->blocked && TRY(prepared->blocked->run(frame, sizes))) return {};
  Result<void> done;
  if (!for_real(x.type(), [&]<class T>(T) { done = run_direct<T>(frame, sizes); }))
    return wrong_type(frame, 0);
  return done;
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
       .layouts = Layouts::each},
      {.name = "FusedConv",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer,
       .macs = macs,
       .run = run,
       .prepare = prepare,
       .required = 2,
       .layouts = Layouts::each},
  };
  return all;
}

}  // namespace anybit::ops
