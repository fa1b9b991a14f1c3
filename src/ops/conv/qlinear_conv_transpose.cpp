// QLinearConvTranspose of ai.anybit: transposed convolution of 8- and 16-bit tensors with one requantization;
// inputs as in QLinearConv. Only fusions create it. A GEMM computes the contributions of each input position
// to all taps and output channels; these are then added exactly at their output positions (col2im).
#include "formats/affine.hpp"
#include "ops/check.hpp"
#include "ops/conv/conv_quantized_parameters.hpp"
#include "ops/conv/conv_transpose_sizes.hpp"
#include "ops/conv/window.hpp"
#include "ops/matmul/integer_gemm.hpp"
#include "ops/quantized/packed_tensor.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

using kernels::ConvSizes;
using kernels::IntegerType;
using kernels::WindowAxis;

enum Input : std::size_t { kX, kXScale, kXZero, kW, kWScale, kWZero, kYScale, kYZero, kBias };

// One packed matrix per group with a row per input channel and columns (tap, output channel), and the
// requantization parameters of each column.
struct Spread : Prepared {
  explicit Spread(FixedConvNumbers all) : fixed(std::move(all)) {}
  FixedConvNumbers fixed;  // by output channel
  std::vector<kernels::PackedIntegers> groups;
  std::vector<float> column_multipliers;  // by group, then by column
  std::vector<std::int32_t> column_biases;
  std::int64_t bytes() const override {
    return bytes_of_all(groups) + std::ssize(fixed.multipliers) * 12 + std::ssize(column_multipliers) * 8;
  }
};

template <class T>
void pack(const Array& w, std::int64_t groups, Spread& spread) {
  const IntegerConvNumbers& numbers = spread.fixed.numbers;
  const std::int64_t outputs = w.dim(1), inputs = w.dim(0) / groups, taps = w.dims().product(2, w.rank());
  const std::int64_t columns = taps * outputs;
  std::vector<T> matrix(static_cast<std::size_t>(inputs * columns));
  std::vector<std::int32_t> zeros(static_cast<std::size_t>(columns));
  for (std::int64_t group = 0; group < groups; ++group) {
    const T* from = w.data<T>() + group * inputs * outputs * taps;
    for (std::int64_t column = 0; column < columns; ++column) {
      const std::int64_t k = column / outputs, o = column % outputs, channel = group * outputs + o;
      zeros[static_cast<std::size_t>(column)] = numbers.w_zero[channel];
      spread.column_multipliers.push_back(numbers.multiplier[channel]);
      spread.column_biases.push_back(numbers.bias[channel]);
      for (std::int64_t i = 0; i < inputs; ++i)
        matrix[static_cast<std::size_t>(i * columns + column)] = from[(i * outputs + o) * taps + k];
    }
    spread.groups.emplace_back(kernels::IntegerView{*integer_type_of(w.type()), matrix.data(), columns, 1},
                               inputs, columns, kernels::Spread<std::int32_t>{zeros.data(), 0, 1});
    if (!is_byte(spread.fixed.x_type)) spread.groups.back().keep_column_sums();
  }
}

Result<std::shared_ptr<const Prepared>> prepare(const Setup& setup) {
  const std::shared_ptr<const Prepared> none;
  const Array* w = setup.constant(kW);
  if (!w || w->rank() < 3 || w->count() == 0 || !is_code(w->type())) return none;
  const std::int64_t groups = setup.integer("group", 1);
  if (groups < 1 || w->dim(0) % groups != 0) return none;
  auto fixed = fixed_numbers(setup, kQLinearConv16Inputs, groups * w->dim(1));
  if (!fixed || !is_code(fixed->x_type)) return none;
  auto spread = std::make_shared<Spread>(*std::move(fixed));
  for_code(w->type(), [&]<class T>(T) { pack<T>(*w, groups, *spread); });
  return std::shared_ptr<const Prepared>(std::move(spread));
}

// Calls body(to, from) for every position of one output row of a group: `to` is a position in the row, `from`
// an offset into the rows of the GEMM.
template <class Body>
void each_spread(const kernels::Window& window, std::int64_t row, std::int64_t channels, const Body& body) {
  const WindowAxis &d = window[0], &h = window[1], &w = window[2];
  const std::int64_t columns = kernel_size(window) * channels, od = row / h.input, oh = row % h.input;
  const auto source = [](const WindowAxis& axis, std::int64_t o, std::int64_t k) {
    const std::int64_t from = o + axis.before - k * axis.dilation;
    return from >= 0 && from % axis.stride == 0 && from / axis.stride < axis.output ? from / axis.stride : -1;
  };
  for (std::int64_t kd = 0; kd < d.kernel; ++kd) {
    for (std::int64_t kh = 0; kh < h.kernel; ++kh) {
      const std::int64_t id = source(d, od, kd), ih = source(h, oh, kh);
      if (id < 0 || ih < 0) continue;
      for (std::int64_t kw = 0; kw < w.kernel; ++kw) {
        const kernels::Range inside = outputs_inside(w, kw);
        const std::int64_t tap = (kd * h.kernel + kh) * w.kernel + kw;
        for (std::int64_t iw = inside.first; iw < inside.last; ++iw) {
          body(start_of(w, iw) + kw * w.dilation,
               ((id * h.output + ih) * w.output + iw) * columns + tap * channels);
        }
      }
    }
  }
}

template <class T>
Result<void> run_as(Frame& frame, const ConvSizes& sizes, const Spread& spread, Array& out) {
  constexpr std::int32_t kLow = std::numeric_limits<T>::min(), kHigh = std::numeric_limits<T>::max();
  const std::int64_t in_space = output_size(sizes.window), space = input_size(sizes.window);
  const std::int64_t channels = sizes.in_per_group(), inputs = sizes.out_per_group();
  const std::int64_t columns = kernel_size(sizes.window) * channels, width = sizes.window[2].input;
  // If no two contributions overlap, the epilogue of the GEMM requantizes.
  const bool once = reaches_once(sizes.window);
  const Array& x = frame.in(kX);
  const IntegerType type = *integer_type_of(x.type());
  if (!once && (bytes_of(type) == 2 || spread.groups.front().parts() == 2 || sizeof(T) == 2))
    return wrong("windows overlap, which is not supported with 16-bit tensors",
                 "strides as long as the kernel");
  const IntegerConvNumbers& numbers = spread.fixed.numbers;
  const auto sums = TRY(frame.scratch_of<std::int32_t>(once ? 0 : in_space * columns));
  const auto quantized = TRY(frame.scratch_of<T>(once ? in_space * columns : 0));
  const auto rows = TRY(frame.scratch_of<std::int32_t>(once ? 0 : space * channels));
  for (std::int64_t image = 0; image < sizes.batch * sizes.groups; ++image) {
    const std::int64_t n = image / sizes.groups, group = image % sizes.groups;
    const std::byte* from = x.bytes() + (n * sizes.out_channels + group * inputs) * in_space * bytes_of(type);
    kernels::IntegerGemmWork work{.m = in_space,
                                  .n = columns,
                                  .k = inputs,
                                  .a = {type, from, 1, in_space},
                                  .a_zero = {&numbers.x_zero, 0, 0},
                                  .b = &spread.groups[static_cast<std::size_t>(group)],
                                  .c = once ? static_cast<void*>(quantized.data()) : sums.data(),
                                  .c_stride = columns};
    if (once) {
      work.epilogue = {.type = *result_of(out.type()),
                       .bias = {spread.column_biases.data() + group * columns, 0, 1},
                       .scale = {spread.column_multipliers.data() + group * columns, 0, 1},
                       .zero_point = numbers.y_zero,
                       .low = kLow,
                       .high = kHigh};
    }
    kernels::gemm(work, frame.pool());
    T* y = out.mutable_data<T>() + n * space * sizes.in_channels + group * channels;
    const auto body = [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        T* to = y + row * width * sizes.in_channels;
        if (once) {
          each_spread(sizes.window, row, channels, [&](std::int64_t place, std::int64_t at) {
            std::copy_n(quantized.data() + at, channels, to + place * sizes.in_channels);
          });
          continue;
        }
        std::int32_t* total = rows.data() + row * width * channels;
        std::fill_n(total, width * channels, 0);
        each_spread(sizes.window, row, channels, [&](std::int64_t place, std::int64_t at) {
          for (std::int64_t c = 0; c < channels; ++c)
            total[place * channels + c] += sums[static_cast<std::size_t>(at + c)];
        });
        for (std::int64_t i = 0; i < width * channels; ++i) {
          const std::int64_t channel = group * channels + i % channels;
          to[i / channels * sizes.in_channels + i % channels] = static_cast<T>(formats::requantize(
              total[i], numbers.bias[channel], numbers.multiplier[channel], numbers.y_zero, kLow, kHigh));
        }
      }
    };
    parallel(frame, space / std::max<std::int64_t>(width, 1),
             static_cast<double>(width * channels) * (once ? 1 : 8),
             [&body](std::int64_t first, std::int64_t last) { body(first, last); });
  }
  return {};
}

Result<void> run(Frame& frame) {
  const Array &x = frame.in(kX), &w = frame.in(kW);
  const ConvSizes sizes = TRY(backward_sizes(frame, x.dims(), w.dims()));
  TRY(spread_dims(sizes, x.rank()));
  if (only_checks(frame)) return {};
  const auto* spread = frame.prepared<Spread>();
  if (!spread || spread->fixed.x_type != x.type())
    return wrong("weights, scales or zero points are not constant or do not match",
                 "constants, as in QLinearConv");
  const Dims dims = TRY(spread_dims(sizes, x.rank()));
  const Layout layout = input_size(sizes.window) > 1 ? Layout::channels_last : Layout::plain;
  Array* out = TRY(frame.out(0, frame.in(kYZero).type(), dims, layout));
  if (out->count() == 0) return {};
  Result<void> done;
  for_code(out->type(), [&]<class T>(T) { done = run_as<T>(frame, sizes, *spread, *out); });
  return done;
}

Dim macs(const Call& call, std::span<const Value>) {
  const auto &x = call.in(kX).shape, &w = call.in(kW).shape;
  return x && w && w->size() > 1 ? product(*x) * product(std::span(*w).subspan(1)) : Dim();
}

Result<Values> infer(const Call& call) {
  return outputs_of(call, tensor(call.in(kYZero).type, std::nullopt));
}

}  // namespace

std::span<const Descriptor> qlinear_conv_transpose_descriptors() {
  static const Descriptor all[] = {{.name = "QLinearConvTranspose",
                                    .domain = kAnybit,
                                    .since = {1},
                                    .infer = infer,
                                    .macs = macs,
                                    .run = run,
                                    .prepare = prepare,
                                    .required = 8}};
  return all;
}

}  // namespace anybit::ops
