// QLinearConvTranspose of ai.anybit: transposed convolution of 8-bit tensors, requantized once; inputs as
// QLinearConv has them. Only fusions make it. What each input place spreads, for all taps and output
// channels, is a row of a product of matrices; the rows are added, exactly, where they belong.
#include <cmath>

#include "formats/affine.hpp"
#include "ops/coded.hpp"
#include "ops/conv_transpose_sizes.hpp"
#include "ops/integer_conv_parts.hpp"
#include "ops/rules.hpp"
#include "ops/window.hpp"

namespace anybit::ops {
namespace {

using kernels::ConvSizes;
using kernels::Whole;
using kernels::WholeResult;
using kernels::WindowAxis;

enum Input : std::size_t { kX, kXScale, kXZero, kW, kWScale, kWZero, kYScale, kYZero, kBias };

// Of each group a matrix with a row for each input channel and columns (tap, output channel); and by column
// of any group what becomes of its sums.
struct Spread : Prepared {
  std::vector<kernels::PackedWholes> groups;
  std::vector<float> multipliers;         // by output channel
  std::vector<std::int32_t> biases;       // the same
  std::vector<float> column_multipliers;  // by group, then by column
  std::vector<std::int32_t> column_biases;
  std::int64_t bytes() const override {
    return bytes_of_all(groups) +
           static_cast<std::int64_t>((multipliers.size() + column_multipliers.size()) * 2 * sizeof(float));
  }
};

Whole whole_of(const Array& array) { return array.type() == ElementType::int8 ? Whole::int8 : Whole::uint8; }

std::int64_t pick(const Array& array, std::int64_t i) { return array.count() == 1 ? 0 : i; }

Result<std::shared_ptr<const Prepared>> prepare(const Setup& setup) {
  for (std::size_t i = kXScale; i <= kYZero; ++i) {
    if (!setup.constant(i)) return std::shared_ptr<const Prepared>();
  }
  const Array &w = *setup.constant(kW), &scale = *setup.constant(kWScale), &zero = *setup.constant(kWZero);
  const Array* bias = setup.constant(kBias);
  const std::int64_t groups = setup.integer("group", 1), inputs = w.dim(0) / groups, outputs = w.dim(1);
  const std::int64_t taps = w.dims().product(2, w.rank()), columns = taps * outputs;
  auto spread = std::make_shared<Spread>();
  for (std::int64_t c = 0; c < groups * outputs; ++c) {
    const float m = formats::requantization_multiplier(*setup.constant(kXScale)->data<float>(),
                                                       scale.data<float>()[pick(scale, c % outputs)],
                                                       *setup.constant(kYScale)->data<float>());
    if (!std::isfinite(m)) return wrong(fmt::format("the scales of channel {} make a factor of {}", c, m));
    spread->multipliers.push_back(m);
    spread->biases.push_back(bias ? bias->data<std::int32_t>()[c] : 0);
  }
  std::vector<std::uint8_t> matrix(static_cast<std::size_t>(inputs * columns));
  std::vector<std::int32_t> zeros(static_cast<std::size_t>(columns));
  for (std::int64_t group = 0; group < groups; ++group) {
    const auto* from = reinterpret_cast<const std::uint8_t*>(w.bytes()) + group * inputs * outputs * taps;
    for (std::int64_t column = 0; column < columns; ++column) {
      const std::int64_t k = column / outputs, o = column % outputs;
      const auto channel = static_cast<std::size_t>(group * outputs + o);
      zeros[static_cast<std::size_t>(column)] = octet(zero, pick(zero, o));
      spread->column_multipliers.push_back(spread->multipliers[channel]);
      spread->column_biases.push_back(spread->biases[channel]);
      for (std::int64_t i = 0; i < inputs; ++i)
        matrix[static_cast<std::size_t>(i * columns + column)] = from[(i * outputs + o) * taps + k];
    }
    spread->groups.emplace_back(kernels::WholeView{whole_of(w), matrix.data(), columns, 1}, inputs, columns,
                                kernels::Spread<std::int32_t>{zeros.data(), 0, 1});
  }
  return std::shared_ptr<const Prepared>(std::move(spread));
}

// The rows [first, last) of one group's output: body(to, from) for every place of `to`, in elements of a
// plane with channels last, and of the product's rows.
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
  // Then the product's own epilogue makes the codes.
  const bool once = reaches_once(sizes.window);
  const Array& x = frame.in(kX);
  const std::int32_t x_zero = octet(frame.in(kXZero), 0), y_zero = octet(frame.in(kYZero), 0);
  const auto sums = TRY(frame.scratch_of<std::int32_t>(once ? 0 : in_space * columns));
  const auto codes = TRY(frame.scratch_of<T>(once ? in_space * columns : 0));
  const auto rows = TRY(frame.scratch_of<std::int32_t>(once ? 0 : space * channels));
  for (std::int64_t image = 0; image < sizes.batch * sizes.groups; ++image) {
    const std::int64_t n = image / sizes.groups, group = image % sizes.groups;
    const auto* from = reinterpret_cast<const std::uint8_t*>(x.bytes()) +
                       (n * sizes.out_channels + group * inputs) * in_space;
    kernels::WholeProduct product{.m = in_space,
                                  .n = columns,
                                  .k = inputs,
                                  .a = {whole_of(x), from, 1, in_space},
                                  .a_zero = {&x_zero, 0, 0},
                                  .b = &spread.groups[static_cast<std::size_t>(group)],
                                  .c = once ? static_cast<void*>(codes.data()) : sums.data(),
                                  .c_stride = columns};
    if (once) {
      product.epilogue = {.type = std::is_signed_v<T> ? WholeResult::int8 : WholeResult::uint8,
                          .bias = {spread.column_biases.data() + group * columns, 0, 1},
                          .scale = {spread.column_multipliers.data() + group * columns, 0, 1},
                          .zero_point = y_zero,
                          .low = kLow,
                          .high = kHigh};
    }
    kernels::gemm(product, frame.pool());
    T* y = out.mutable_data<T>() + n * space * sizes.in_channels + group * channels;
    const auto body = [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t row = first; row < last; ++row) {
        T* to = y + row * width * sizes.in_channels;
        if (once) {
          each_spread(sizes.window, row, channels, [&](std::int64_t place, std::int64_t at) {
            std::copy_n(codes.data() + at, channels, to + place * sizes.in_channels);
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
          const auto channel = static_cast<std::size_t>(group * channels + i % channels);
          to[i / channels * sizes.in_channels + i % channels] = static_cast<T>(formats::requantize(
              total[i], spread.biases[channel], spread.multipliers[channel], y_zero, kLow, kHigh));
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
  const auto* spread = frame.prepared<Spread>();
  if (!spread || !is_octet(x.type())) return wrong("weights and scales must be constants");
  const Dims dims = TRY(spread_dims(sizes, x.rank()));
  const Layout layout = input_size(sizes.window) > 1 ? Layout::channels_last : Layout::plain;
  Array* out = TRY(frame.out(0, frame.in(kYZero).type(), dims, layout));
  if (out->count() == 0) return {};
  Result<void> done;
  for_octet(out->type(), [&]<class T>(T) { done = run_as<T>(frame, sizes, *spread, *out); });
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
