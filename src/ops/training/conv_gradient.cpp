// ConvGradientInput(dy, w, x_shape) and ConvGradientWeight(dy, x, w_shape), with the attributes of Conv.
// float32 runs by oneDNN in blocked layout, or as GEMM; float64 as plain loops. Domain ai.anybit.training.
#include "kernels/conv/conv_gradient.hpp"
#include "ops/check.hpp"
#include "ops/conv/conv_call.hpp"
#include "ops/conv/conv_transpose_blocked.hpp"
#include "ops/conv/conv_transpose_gemm.hpp"
#include "ops/conv/window.hpp"
#include "ops/training/conv_gradient_blocked.hpp"
#include "ops/training/conv_gradient_gemm.hpp"
#include "ops/training/training.hpp"

namespace anybit::ops {
namespace {

using kernels::ConvSizes;

// The sizes of the convolution, whose output is as large as dy.
Result<ConvSizes> sizes_of_gradient(const Frame& frame, const Dims& x, const Dims& w) {
  const ConvSizes sizes = TRY(conv_sizes(frame, x, w));
  const Dims dims = output_dims(sizes.batch, sizes.out_channels, sizes.window, x.size());
  if (frame.in(0).dims() == dims) return sizes;
  return wrong(fmt::format("the gradient is {}", to_string(frame.in(0))),
               fmt::format("the output's shape: {}", to_string(dims)));
}

Result<void> expect_operands(const Frame& frame) {
  TRY(expect_trained(frame, 0));
  return frame.in(1).type() == frame.in(0).type() ? Result<void>() : wrong_type(frame, 1);
}

// No positions or channels to sum over: the gradient is zero.
Result<void> no_gradient_at_all(Frame& frame, const Dims& dims) {
  Array* out = TRY(frame.out(0, frame.in(0).type(), dims));
  for_trained(out->type(), [&]<class T>(T) { std::ranges::fill(out->elements<T>(), T(0)); });
  return {};
}

bool is_depthwise(const ConvSizes& sizes) {
  return sizes.groups > 1 && sizes.in_per_group() == 1 && sizes.out_per_group() == 1;
}

double cost_of_map(const ConvSizes& sizes, std::int64_t maps) {
  return static_cast<double>(output_size(sizes.window) * kernel_size(sizes.window)) *
         static_cast<double>(maps);
}

Result<void> by_input_directly(Frame& frame, const ConvSizes& sizes, const Dims& dims) {
  for (const std::size_t i : {0, 1}) TRY(frame.make_plain(i));
  Array* dx = TRY(frame.out(0, frame.in(0).type(), dims));
  for_trained(dx->type(), [&]<class T>(T) {
    const T *dy = frame.in(0).data<T>(), *w = frame.in(1).data<T>();
    parallel(frame, sizes.batch * sizes.in_channels, cost_of_map(sizes, sizes.out_per_group()),
             [&](std::int64_t first, std::int64_t last) {
               kernels::gradient_by_input(sizes, dy, w, first, last, dx->mutable_data<T>());
             });
  });
  return {};
}

Result<void> run_conv_gradient_input(Frame& frame) {
  TRY(expect_operands(frame));
  const Dims dims = TRY(sizes_from(frame, 2));
  const ConvSizes sizes = TRY(sizes_of_gradient(frame, dims, frame.in(1).dims()));
  if (frame.in(0).count() == 0 || frame.in(1).count() == 0 || dims.count() == 0)
    return no_gradient_at_all(frame, dims);
  if (only_checks(frame)) return not_known();
  if (frame.in(0).type() == ElementType::float32) {
    TRY(frame.make_plain(1));
    const Array& w = frame.in(1);
    if (TRY(gradient_by_input_mirrored(frame, sizes, w))) return {};
    if (is_depthwise(sizes)) return gradient_by_input_depthwise(frame, sizes, frame.in(0), w, dims);
    if (TRY(gradient_by_input_blocked(frame, sizes, frame.in(0), w, dims))) return {};
    if (const auto blocked = TRY(BlockedTranspose::make(frame, frame.memory(), w)))
      return blocked->run(frame, sizes, dims, nullptr);
    return run_spread(frame, sizes, dims, spread_matrices(w, sizes.groups), nullptr);
  }
  return by_input_directly(frame, sizes, dims);
}

Result<void> by_weight_directly(Frame& frame, const ConvSizes& sizes, const Dims& dims) {
  for (const std::size_t i : {0, 1}) TRY(frame.make_plain(i));
  Array* dw = TRY(frame.out(0, frame.in(0).type(), dims));
  for_trained(dw->type(), [&]<class T>(T) {
    const T *dy = frame.in(0).data<T>(), *x = frame.in(1).data<T>();
    parallel(frame, sizes.out_channels * sizes.in_per_group(), cost_of_map(sizes, sizes.batch),
             [&](std::int64_t first, std::int64_t last) {
               kernels::gradient_by_weight(sizes, dy, x, first, last, dw->mutable_data<T>());
             });
  });
  return {};
}

Result<void> run_conv_gradient_weight(Frame& frame) {
  TRY(expect_operands(frame));
  const Dims dims = TRY(sizes_from(frame, 2));
  const ConvSizes sizes = TRY(sizes_of_gradient(frame, frame.in(1).dims(), dims));
  if (frame.in(0).count() == 0 || frame.in(1).count() == 0 || dims.count() == 0)
    return no_gradient_at_all(frame, dims);
  if (only_checks(frame)) return not_known();
  if (frame.in(0).type() == ElementType::float32) {
    if (TRY(gradient_by_weight_blocked(frame, sizes, frame.in(0), frame.in(1), dims))) return {};
    if (is_depthwise(sizes))
      return gradient_by_weight_depthwise(frame, sizes, frame.in(0), frame.in(1), dims);
    const Array dy = TRY(in_layout(frame, frame.in(0), Layout::channels_last));
    const Array x = TRY(in_layout(frame, frame.in(1), Layout::channels_last));
    Array* dw = TRY(frame.out(0, ElementType::float32, dims));
    return gradient_by_weight_gemm(frame, sizes, dy.data<float>(), x.data<float>(),
                                   dw->mutable_data<float>());
  }
  return by_weight_directly(frame, sizes, dims);
}

Result<Values> infer_conv_gradient(const Call& call) {
  return outputs_of(call, tensor(call.in(0).type, shape_in(call, 2)));
}

// As many as the convolution has.
Dim macs_of_gradient(const std::optional<Shape>& dy, const std::optional<Shape>& w) {
  if (!dy || !w || w->empty()) return {};
  return product(*dy) * product(std::span(*w).subspan(1));
}
Dim macs_by_input(const Call& call, std::span<const Value>) {
  return macs_of_gradient(call.in(0).shape, call.in(1).shape);
}
Dim macs_by_weight(const Call& call, std::span<const Value> outputs) {
  return outputs.empty() ? Dim() : macs_of_gradient(call.in(0).shape, outputs[0].shape);
}

constexpr Descriptor conv_gradient_of(std::string_view name, Run run, Macs macs) {
  Descriptor one = training_operator(name, infer_conv_gradient, run, 3, Layouts::each);
  one.macs = macs;
  return one;
}

}  // namespace

std::span<const Descriptor> conv_gradient_descriptors() {
  static const Descriptor all[] = {
      conv_gradient_of("ConvGradientInput", run_conv_gradient_input, macs_by_input),
      conv_gradient_of("ConvGradientWeight", run_conv_gradient_weight, macs_by_weight),
  };
  return all;
}

}  // namespace anybit::ops
