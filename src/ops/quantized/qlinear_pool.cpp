// QLinearAveragePool and QLinearGlobalAveragePool of ONNX Runtime: averages of 8- or 16-bit quantized
// tensors, from exact sums with one requantization.
#include <cmath>

#include "formats/affine.hpp"
#include "ops/check.hpp"
#include "ops/conv/window.hpp"
#include "ops/layout.hpp"
#include "ops/quantized/quantization.hpp"
#include "ops/rules.hpp"
#include "ops/vision/pool_run.hpp"

namespace anybit::ops {
namespace {

// With channels_last, shape inference sees the channels-first shape.
std::optional<Shape> channels_second(const std::optional<Shape>& x) {
  if (!x || x->size() < 3) return x;
  Shape shape = *x;
  std::rotate(shape.begin() + 1, shape.end() - 1, shape.end());
  return shape;
}

std::optional<Shape> channels_last(std::optional<Shape> x) {
  if (x && x->size() >= 3) std::rotate(x->begin() + 1, x->begin() + 2, x->end());
  return x;
}

Result<Values> infer(const Call& call) {
  if (!call.flag("channels_last"))
    return outputs_of(call, tensor(call.in(0).type, TRY(pooled_shape(call, call.in(0).shape))));
  return outputs_of(call, tensor(call.in(0).type,
                                 channels_last(TRY(pooled_shape(call, channels_second(call.in(0).shape))))));
}

Result<Values> infer_global(const Call& call) {
  if (!call.flag("channels_last"))
    return outputs_of(call, tensor(call.in(0).type, TRY(global_shape(call.in(0).shape))));
  return outputs_of(
      call, tensor(call.in(0).type, channels_last(TRY(global_shape(channels_second(call.in(0).shape))))));
}

// The input as [batch, channels, space…], for either value of channels_last.
Result<Array> input_of(Frame& frame) {
  const bool last = frame.flag("channels_last");
  const Array x = last ? TRY(in_layout(frame, frame.in(0), Layout::plain)) : frame.in(0);
  if (x.rank() < 3) return wrong(fmt::format("the input is {}", to_string(x)), "batch, channels and space");
  if (!last) return x;
  Dims dims = x.dims();
  std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
  return Array::over(x.type(), dims, const_cast<std::byte*>(x.bytes()), {}, Layout::channels_last);
}

struct Quantized {
  float x_scale, y_scale;
  std::int32_t x_zero, y_zero;

  float multiplier(std::int64_t count) const {
    return static_cast<float>(
        static_cast<double>(x_scale) /
        (static_cast<double>(y_scale) * static_cast<double>(std::max<std::int64_t>(count, 1))));
  }
};

Result<Quantized> quantized_of(const Frame& frame) {
  Quantized result{};
  for (const std::size_t i : {std::size_t{1}, std::size_t{3}}) {
    const Array& scale = frame.in(i);
    if (scale.type() != ElementType::float32 || scale.count() != 1)
      return wrong(fmt::format("scale {} is {}", i, to_string(scale)), "one float32");
    (i == 1 ? result.x_scale : result.y_scale) = has_elements(scale) ? *scale.data<float>() : 1.0f;
  }
  for (const std::size_t i : {std::size_t{2}, std::size_t{4}}) {
    if (!frame.has(i)) continue;
    const Array& zero = frame.in(i);
    if (zero.type() != frame.in(0).type() || zero.count() != 1)
      return wrong(fmt::format("zero point {} is {}", i, to_string(zero)), "one, of the input's type");
    if (!has_elements(zero)) continue;
    (i == 2 ? result.x_zero : result.y_zero) =
        static_cast<std::int32_t>(TRY(integer_from(zero, "zero point")));
  }
  if (!std::isfinite(result.multiplier(1)))
    return wrong(fmt::format("the scales are {} and {}", result.x_scale, result.y_scale), "finite, above 0");
  return result;
}

template <class T>
Result<void> pool(Frame& frame, const Array& x, const kernels::PoolSizes& sizes, const Dims& dims) {
  const Quantized quantized = TRY(quantized_of(frame));
  const bool include = frame.flag("count_include_pad");
  Array* out = nullptr;
  if (frame.flag("channels_last")) {
    Dims last = dims;
    std::rotate(last.begin() + 1, last.begin() + 2, last.end());
    out = TRY(frame.out(0, x.type(), last));
  } else {
    out = TRY(frame.out(0, x.type(), dims, x.layout()));
  }
  if (out->count() == 0) return {};
  const auto sums = TRY(frame.scratch_of<std::int64_t>(sizes.rows() * sizes.window[2].output * sizes.lanes));
  const auto body = [&](std::int64_t first, std::int64_t last) {
    kernels::sum_pool(sizes, quantized.x_zero, x.data<T>(), first, last, sums.data());
    const auto& [d, h, w] = sizes.window;
    for (std::int64_t i = first * w.output; i < last * w.output; ++i) {
      const std::int64_t row = i / w.output;
      const std::int64_t count =
          kernels::pool_count(sizes.window, include, row / h.output % d.output, row % h.output, i % w.output);
      const float m = quantized.multiplier(count);
      for (std::int64_t lane = i * sizes.lanes; lane < (i + 1) * sizes.lanes; ++lane) {
        out->mutable_data<T>()[lane] =
            static_cast<T>(formats::requantize(sums[static_cast<std::size_t>(lane)], 0, m, quantized.y_zero,
                                               std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
      }
    }
  };
  const double cost = static_cast<double>(sizes.window[2].output * sizes.lanes) *
                      static_cast<double>(kernel_size(sizes.window) + 4);
  parallel(frame, sizes.rows(), cost, [&body](std::int64_t a, std::int64_t b) { body(a, b); });
  return {};
}

Result<void> pool_quantized(Frame& frame, const Array& x, const kernels::PoolSizes& sizes, const Dims& dims) {
  Result<void> done;
  if (!for_code(x.type(), [&]<class T>(T) { done = pool<T>(frame, x, sizes, dims); }))
    return wrong_type(frame, 0);
  return done;
}

Result<void> run(Frame& frame) {
  const Array x = TRY(input_of(frame));
  const kernels::PoolSizes sizes = TRY(pool_sizes(frame, x));
  return pool_quantized(frame, x, sizes, output_dims(x.dim(0), x.dim(1), sizes.window, x.rank()));
}

Result<void> run_global(Frame& frame) {
  const Array x = TRY(input_of(frame));
  return pool_quantized(frame, x, TRY(global_sizes(x)), global_dims(x.dims()));
}

constexpr QuantizedTensors tensors() {
  return {{.input = 0, .scale = 1, .zero_point = 2}, {.output = 0, .scale = 3, .zero_point = 4}};
}

}  // namespace

std::span<const Descriptor> qlinear_pool_descriptors() {
  static const Descriptor all[] = {
      {.name = "QLinearAveragePool",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer,
       .quantized = tensors(),
       .run = run,
       .required = 4,
       .layouts = Layouts::each},
      {.name = "QLinearGlobalAveragePool",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer_global,
       .quantized = tensors(),
       .run = run_global,
       .required = 4,
       .layouts = Layouts::each},
  };
  return all;
}

}  // namespace anybit::ops
