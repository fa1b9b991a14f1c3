#include "ops/conv/conv_transpose_gemm.hpp"

#include <algorithm>
#include <type_traits>

#include "ops/conv/conv_transpose_sizes.hpp"
#include "ops/layout.hpp"

namespace anybit::ops {
namespace {

using kernels::ConvSizes;
using kernels::Range;
using kernels::WindowAxis;

// Layout of a group's output channels: `lanes` are contiguous at each position, the next lanes are `step`
// elements further on.
struct Target {
  float* data;
  std::int64_t place, lanes, step;
};

// Input positions and taps that contribute to output position `o`, on one axis.
template <class Body>
void reaching(const WindowAxis& axis, std::int64_t o, const Body& body) {
  for (std::int64_t k = 0; k < axis.kernel; ++k) {
    const std::int64_t from = o + axis.before - k * axis.dilation;
    if (from >= 0 && from % axis.stride == 0 && from / axis.stride < axis.output) body(from / axis.stride, k);
  }
}

// Calls body(offset within the output position, channel, number of lanes) for the channels of one position.
// Eight lanes are a compile-time constant: they fit vectors.
template <class Body>
void each_lanes(const Target& target, std::int64_t channels, const Body& body) {
  if (target.lanes == 8) {
    for (std::int64_t c = 0; c < channels; c += 8)
      body(c / 8 * target.step, c, std::integral_constant<std::int64_t, 8>());
  } else {
    for (std::int64_t c = 0; c < channels; c += target.lanes)
      body(c / target.lanes * target.step, c, target.lanes);
  }
}

// Adds GEMM rows to one row of the output. If each output receives one input, the sum has only the bias to
// add.
template <bool kOnce>
void add_row(const kernels::Window& window, std::int64_t od, std::int64_t oh, const float* spread,
             const float* bias, std::int64_t channels, const Target& target) {
  const WindowAxis &d = window[0], &h = window[1], &w = window[2];
  const std::int64_t columns = kernel_size(window) * channels;
  reaching(d, od, [&](std::int64_t id, std::int64_t kd) {
    reaching(h, oh, [&](std::int64_t ih, std::int64_t kh) {
      for (std::int64_t kw = 0; kw < w.kernel; ++kw) {
        const Range inside = outputs_inside(w, kw);
        const std::int64_t tap = (kd * h.kernel + kh) * w.kernel + kw;
        for (std::int64_t iw = inside.first; iw < inside.last; ++iw) {
          const float* from = spread + ((id * h.output + ih) * w.output + iw) * columns + tap * channels;
          float* to = target.data + (start_of(w, iw) + kw * w.dilation) * target.place;
          each_lanes(target, channels, [&](std::int64_t at, std::int64_t c, auto lanes) {
            float* __restrict sums = to + at;
            const float* old = kOnce ? bias + c : sums;
            for (std::int64_t i = 0; i < lanes; ++i) sums[i] = old[i] + from[c + i];
          });
        }
      }
    });
  });
}

void fill_row(const float* bias, std::int64_t width, std::int64_t channels, const Target& target) {
  for (std::int64_t ow = 0; ow < width; ++ow) {
    float* to = target.data + ow * target.place;
    each_lanes(target, channels, [&](std::int64_t at, std::int64_t c, auto lanes) {
      for (std::int64_t i = 0; i < lanes; ++i) to[at + i] = bias[c + i];
    });
  }
}

}  // namespace

SpreadMatrices spread_matrices(const Array& w, std::int64_t groups) {
  if (w.type() != ElementType::float32 || w.rank() < 3 || w.count() == 0 || groups < 1 ||
      w.dim(0) % groups != 0)
    return {};
  const std::int64_t inputs = w.dim(0) / groups, outputs = w.dim(1), taps = w.dims().product(2, w.rank());
  SpreadMatrices matrices;
  std::vector<float> matrix(static_cast<std::size_t>(inputs * outputs * taps));
  for (std::int64_t group = 0; group < groups; ++group) {
    const float* from = w.data<float>() + group * inputs * outputs * taps;
    for (std::int64_t i = 0; i < inputs; ++i) {
      for (std::int64_t o = 0; o < outputs; ++o) {
        for (std::int64_t k = 0; k < taps; ++k) {
          matrix[static_cast<std::size_t>((i * taps + k) * outputs + o)] = from[(i * outputs + o) * taps + k];
        }
      }
    }
    matrices.groups.emplace_back(kernels::MatrixView<float>{matrix.data(), outputs * taps, 1}, inputs,
                                 outputs * taps);
  }
  return matrices;
}

Result<void> run_spread(Frame& frame, const ConvSizes& sizes, const Dims& dims,
                        const SpreadMatrices& matrices, const Array* given_bias) {
  const bool plain_x = frame.in(0).layout() == Layout::plain;
  const Array x = plain_x ? frame.in(0) : TRY(in_layout(frame, frame.in(0), Layout::channels_last));
  const std::int64_t space = input_size(sizes.window), in_space = output_size(sizes.window);
  const std::int64_t channels = sizes.in_per_group(), inputs = sizes.out_per_group();
  const bool blocked = channels % 8 == 0 && space > 1;
  const Layout layout = blocked ? Layout::blocked8 : space > 1 ? Layout::channels_last : Layout::plain;
  Array* out = TRY(frame.out(0, ElementType::float32, dims, layout));
  const std::int64_t columns = kernel_size(sizes.window) * channels;
  const auto spread = TRY(frame.scratch_of<float>(in_space * columns));
  const auto biases = TRY(frame.scratch_of<float>(sizes.in_channels));
  std::ranges::fill(biases, 0.0f);
  if (given_bias) {
    const Array bias = TRY(in_layout(frame, *given_bias, Layout::plain));
    std::copy_n(bias.data<float>(), sizes.in_channels, biases.begin());
  }
  const bool once = reaches_once(sizes.window);
  const WindowAxis &d = sizes.window[0], &h = sizes.window[1], &w = sizes.window[2];
  for (std::int64_t n = 0; n < sizes.batch; ++n) {
    for (std::int64_t group = 0; group < sizes.groups; ++group) {
      const float* image = x.data<float>() + n * sizes.out_channels * in_space;
      kernels::FloatGemmWork work{.m = in_space,
                                  .n = columns,
                                  .k = inputs,
                                  .b = &matrices.groups[static_cast<std::size_t>(group)],
                                  .c = spread.data(),
                                  .c_stride = columns};
      work.a = plain_x ? kernels::MatrixView<float>{image + group * inputs * in_space, 1, in_space}
                       : kernels::MatrixView<float>{image + group * inputs, sizes.out_channels, 1};
      kernels::gemm(work, frame.pool());
      float* y = out->mutable_data<float>() + n * sizes.in_channels * space;
      y += blocked ? group * channels * space : group * channels;
      const float* numbers = biases.data() + group * channels;
      const auto body = [&](std::int64_t first, std::int64_t last) {
        for (std::int64_t row = first; row < last; ++row) {
          Target target{y, blocked ? 8 : sizes.in_channels, blocked ? 8 : channels, blocked ? space * 8 : 0};
          target.data += row * w.input * target.place;
          const std::int64_t od = row / h.input, oh = row % h.input;
          if (once) {
            add_row<true>(sizes.window, od, oh, spread.data(), numbers, channels, target);
          } else {
            fill_row(numbers, w.input, channels, target);
            add_row<false>(sizes.window, od, oh, spread.data(), numbers, channels, target);
          }
        }
      };
      parallel(frame, d.input * h.input, static_cast<double>(w.input * channels),
               [&body](std::int64_t a, std::int64_t b) { body(a, b); });
    }
  }
  return {};
}

}  // namespace anybit::ops
