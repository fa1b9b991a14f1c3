#include "ops/training/conv_gradient_gemm.hpp"

#include <algorithm>

#include "kernels/gemm/gemm.hpp"

namespace anybit::ops {
namespace {

using kernels::ConvSizes;
using kernels::kPanel;

// The windows of x as a matrix: row = output position over batch and space, column = (tap, channel of the
// group).
class WindowColumns final : public kernels::FloatRhs {
 public:
  WindowColumns(const ConvSizes& sizes, std::int64_t group, const float* x)
      : sizes_(sizes), x_(x + group * sizes.in_per_group()) {}

  const float* panel(std::int64_t index, std::int64_t k, std::int64_t count, float* scratch) const override {
    std::fill_n(scratch, count * kPanel, 0.0f);
    const std::int64_t first = index * kPanel, last = std::min(first + kPanel, sizes_.depth());
    const std::int64_t channels = sizes_.in_per_group();
    for (std::int64_t column = first; column < last;) {
      const std::int64_t tap = column / channels, channel = column % channels;
      const std::int64_t width = std::min(last - column, channels - channel);
      copy_tap(tap, channel, width, k, count, scratch + column - first);
      column += width;
    }
    return scratch;
  }

 private:
  // `width` channels of one tap, for positions [k, k + count).
  void copy_tap(std::int64_t tap, std::int64_t channel, std::int64_t width, std::int64_t k,
                std::int64_t count, float* to) const {
    const auto& [d, h, w] = sizes_.window;
    const std::int64_t kw = tap % w.kernel, kh = tap / w.kernel % h.kernel, kd = tap / (w.kernel * h.kernel);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t position = k + i, row = position / w.output;
      const std::int64_t iw = start_of(w, position % w.output) + kw * w.dilation;
      const std::int64_t ih = start_of(h, row % h.output) + kh * h.dilation;
      const std::int64_t id = start_of(d, row / h.output % d.output) + kd * d.dilation;
      const bool inside = iw >= 0 && iw < w.input && ih >= 0 && ih < h.input && id >= 0 && id < d.input;
      if (!inside) continue;
      const std::int64_t n = row / (h.output * d.output);
      const std::int64_t place = ((n * d.input + id) * h.input + ih) * w.input + iw;
      std::copy_n(x_ + place * sizes_.in_channels + channel, width, to + i * kPanel);
    }
  }

  const ConvSizes& sizes_;
  const float* x_;
};

}  // namespace

Result<void> gradient_by_weight_gemm(Frame& frame, const ConvSizes& sizes, const float* dy, const float* x,
                                     float* dw) {
  const std::int64_t rows = sizes.out_per_group(), columns = sizes.depth();
  const std::int64_t taps = kernel_size(sizes.window), channels = sizes.in_per_group();
  const auto sums = TRY(frame.scratch_of<float>(rows * columns));
  for (std::int64_t group = 0; group < sizes.groups; ++group) {
    const WindowColumns windows(sizes, group, x);
    const kernels::FloatGemmWork work{.m = rows,
                                      .n = columns,
                                      .k = sizes.batch * output_size(sizes.window),
                                      .a = {dy + group * rows, 1, sizes.out_channels},
                                      .b = &windows,
                                      .c = sums.data(),
                                      .c_stride = columns};
    kernels::gemm(work, frame.pool());
    for (std::int64_t o = 0; o < rows; ++o) {
      const float* from = sums.data() + o * columns;
      float* to = dw + (group * rows + o) * columns;
      for (std::int64_t i = 0; i < channels; ++i) {
        for (std::int64_t k = 0; k < taps; ++k) to[i * taps + k] = from[k * channels + i];
      }
    }
  }
  return {};
}

}  // namespace anybit::ops
