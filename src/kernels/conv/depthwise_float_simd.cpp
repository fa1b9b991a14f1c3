#include "kernels/conv/depthwise_float.hpp"

#include "kernels/choose.hpp"
#include "kernels/move/layout_transform.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/depthwise_float_simd.cpp"
#include "hwy/foreach_target.h"
#include "kernels/conv/conv_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

inline constexpr int kOutputsBeside = kTileRows == 3 ? 5 : 8;  // adjacent results in registers

// The taps of one output row that are inside the input, for one channel block.
struct DepthwiseRow {
  const float* x;  // the first tap of the first output; in the padding if outputs are
  const float* w;
  std::int64_t planes, lines;              // taps on the first two axes
  std::int64_t x_plane, x_line, x_column;  // floats between their inputs
  std::int64_t w_plane, w_line;
  std::int64_t step;  // floats between the inputs of adjacent outputs
};

struct DepthwiseFinish {
  const float* bias;
  const float* addend;
  float* y;
  float low, high;
};

// Adds one line of taps [first, last) to `Count` adjacent outputs. `Taps` and `Stride` are known if not 0;
// then all taps are used and adjacent, and every input is loaded once.
template <int Count, int Taps, int Stride>
HWY_INLINE void AddLine(const float* HWY_RESTRICT x, const float* HWY_RESTRICT w, const DepthwiseRow& row,
                        std::int64_t first, std::int64_t last, V8 (&sum)[Count]) {
  const D8 d;
  if constexpr (Taps > 0) {
    V8 weights[Taps];
    HWY_UNROLL(5)
    for (int k = 0; k < Taps; ++k) weights[k] = hn::LoadU(d, w + k * 8);
    HWY_UNROLL(24)
    for (int i = 0; i < (Count - 1) * Stride + Taps; ++i) {
      const V8 one = hn::LoadU(d, x + i * 8);
      HWY_UNROLL(5)
      for (int k = 0; k < Taps; ++k) {
        const int p = (i - k) / Stride;
        if (i < k || (i - k) % Stride != 0 || p >= Count) continue;
        sum[p] = hn::MulAdd(one, weights[k], sum[p]);
        ANYBIT_PIN(sum[p]);
      }
    }
  } else {
    for (std::int64_t k = first; k < last; ++k) {
      const V8 weight = hn::LoadU(d, w + k * 8);
      const float* from = x + k * row.x_column;
      HWY_UNROLL(8)
      for (int p = 0; p < Count; ++p) {
        sum[p] = hn::MulAdd(hn::LoadU(d, from + p * row.step), weight, sum[p]);
        ANYBIT_PIN(sum[p]);
      }
    }
  }
}

// `Count` adjacent outputs, of taps [first, last) on the last axis.
template <int Count, int Taps, int Stride>
HWY_INLINE void WriteOutputs(const DepthwiseRow& row, const DepthwiseFinish& finish, std::int64_t output,
                             std::int64_t first, std::int64_t last) {
  const D8 d;
  const std::int64_t planes = row.planes, lines = row.lines, x_plane = row.x_plane, x_line = row.x_line;
  const std::int64_t w_plane = row.w_plane, w_line = row.w_line;
  for (int part = 0; part < 8; part += kLanes8) {
    const V8 bias = finish.bias ? hn::LoadU(d, finish.bias + part) : hn::Zero(d);
    V8 sum[Count];
    HWY_UNROLL(8)
    for (int p = 0; p < Count; ++p) sum[p] = bias;
    const float* x = row.x + output * row.step + part;
    const float* w = row.w + part;
    for (std::int64_t i = 0; i < planes; ++i, x += x_plane, w += w_plane) {
      const float *line = x, *line_w = w;
      for (std::int64_t j = 0; j < lines; ++j, line += x_line, line_w += w_line)
        AddLine<Count, Taps, Stride>(line, line_w, row, first, last, sum);
    }
    const V8 low = hn::Set(d, finish.low), high = hn::Set(d, finish.high);
    HWY_UNROLL(8)
    for (int p = 0; p < Count; ++p) {
      const std::int64_t at = (output + p) * 8 + part;
      if (finish.addend) sum[p] = hn::Add(sum[p], hn::LoadU(d, finish.addend + at));
      hn::StoreU(Clamped(sum[p], low, high), d, finish.y + at);
    }
  }
}

template <int Taps, int Stride, int Count = 1>
HWY_INLINE void WriteLast(const DepthwiseRow& row, const DepthwiseFinish& finish, std::int64_t output,
                          std::int64_t count, std::int64_t taps) {
  if (count == Count) return WriteOutputs<Count, Taps, Stride>(row, finish, output, 0, taps);
  if constexpr (Count < kOutputsBeside) WriteLast<Taps, Stride, Count + 1>(row, finish, output, count, taps);
}

// Outputs [from, until), whose taps are all inside the input.
template <int Taps, int Stride>
HWY_NOINLINE void WriteRow(const DepthwiseRow& row, const DepthwiseFinish& finish, std::int64_t from,
                           std::int64_t until, std::int64_t taps) {
  // The last two parts have about the same size.
  for (; until - from >= 2 * kOutputsBeside; from += kOutputsBeside)
    WriteOutputs<kOutputsBeside, Taps, Stride>(row, finish, from, 0, taps);
  while (from < until) {
    const std::int64_t count = Ratio(until - from, Ratio(until - from, kOutputsBeside));
    WriteLast<Taps, Stride>(row, finish, from, count, taps);
    from += count;
  }
}

HWY_NOINLINE void WriteEdge(const DepthwiseRow& row, const DepthwiseFinish& finish, std::int64_t output,
                            Range taps) {
  WriteOutputs<1, 0, 0>(row, finish, output, taps.first, taps.last);
}

using RowFunction = void (*)(const DepthwiseRow&, const DepthwiseFinish&, std::int64_t, std::int64_t,
                             std::int64_t);
HWY_INLINE RowFunction RowFunctionFor(const WindowAxis& w) {
  const bool adjacent = w.dilation == 1;
  if (adjacent && w.kernel == 3 && w.stride == 1) return WriteRow<3, 1>;
  if (adjacent && w.kernel == 3 && w.stride == 2) return WriteRow<3, 2>;
  if (adjacent && w.kernel == 5 && w.stride == 1) return WriteRow<5, 1>;
  if (adjacent && w.kernel == 5 && w.stride == 2) return WriteRow<5, 2>;
  return WriteRow<0, 0>;
}

class DepthwiseJob {
 public:
  explicit DepthwiseJob(const FloatDepthwiseWork& work)
      : work_(work), range_(work.activation, work.finish), blocks_(channel_blocks(work.sizes.out_channels)) {
    const auto& [d, h, w] = work.sizes.window;
    rows_ = d.output * h.output;
    const std::int64_t row_macs = w.output * kernel_size(work.sizes.window) * 8;
    rows_of_part_ = std::clamp<std::int64_t>(Ratio(kPartMacs / 4, row_macs), 1, rows_);
    parts_ = Ratio(rows_, rows_of_part_);
    rows_of_part_ = Ratio(rows_, parts_);
    parts_ = Ratio(rows_, rows_of_part_);
    first_ = 0, last_ = w.output;  // outputs whose taps are all inside
    for (const std::int64_t k : {std::int64_t{0}, w.kernel - 1}) {
      const Range inside = outputs_inside(w, k);
      first_ = std::max(first_, inside.first), last_ = std::min(last_, inside.last);
    }
    if (last_ < first_) first_ = last_ = w.output;
    constexpr std::int64_t kNarrow = 32;  // then the edges cost more than a copy of the plane
    padded_ =
        parts_ == 1 && w.input <= kNarrow && last_ - first_ < w.output && d.input * h.input <= 4 * kNarrow;
    line_ = w.input;
    if (padded_)
      line_ = (w.output - 1) * w.stride + (w.kernel - 1) * w.dilation + 1, first_ = 0, last_ = w.output;
  }
  std::int64_t Count() const { return work_.sizes.batch * blocks_ * parts_; }
  std::int64_t Macs() const {
    return rows_of_part_ * work_.sizes.window[2].output * kernel_size(work_.sizes.window) * 8;
  }

  void Run(std::int64_t part) const {
    const std::int64_t plane = part / parts_, first = part % parts_ * rows_of_part_;
    const std::int64_t last = std::min(first + rows_of_part_, rows_);
    const auto& [d, h, w] = work_.sizes.window;
    const std::int64_t in_space = input_size(work_.sizes.window), out_space = output_size(work_.sizes.window);
    const std::int64_t taps = kernel_size(work_.sizes.window), block = plane % blocks_;
    const bool copies = padded_ || work_.plain_x;
    const Range lines = copies ? Lines(first, last) : Range{};
    const std::int64_t copied = (lines.last - lines.first) * line_ * 8;
    const std::int64_t placed = work_.plain_y ? (last - first) * w.output * 8 : 0;
    auto* const scratch = reinterpret_cast<float*>(gemm_scratch((copied + placed) * 4));
    const float* x = work_.x + plane * in_space * 8;
    if (copies) {
      Copy(plane, lines, scratch);
      x = scratch - lines.first * line_ * 8;
    }
    if (!padded_) x -= w.before * 8;
    float* const y = work_.plain_y ? scratch + copied : work_.y + (plane * out_space + first * w.output) * 8;
    for (std::int64_t r = first; r < last; ++r) {
      const std::int64_t od = r / h.output, oh = r % h.output;
      const Range kd = taps_inside(d, od), kh = taps_inside(h, oh);
      const std::int64_t id = start_of(d, od) + kd.first * d.dilation;
      const std::int64_t ih = start_of(h, oh) + kh.first * h.dilation;
      const DepthwiseRow row{
          .x = x + (id * h.input + ih) * line_ * 8,
          .w = work_.weights + (block * taps + (kd.first * h.kernel + kh.first) * w.kernel) * 8,
          .planes = kd.last - kd.first,
          .lines = kh.last - kh.first,
          .x_plane = d.dilation * h.input * line_ * 8,
          .x_line = h.dilation * line_ * 8,
          .x_column = w.dilation * 8,
          .w_plane = h.kernel * w.kernel * 8,
          .w_line = w.kernel * 8,
          .step = w.stride * 8};
      const std::int64_t at = (plane * out_space + r * w.output) * 8;
      RunRow(row, {.bias = work_.bias ? work_.bias + block * 8 : nullptr,
                   .addend = work_.addend ? work_.addend + at : nullptr,
                   .y = y + (r - first) * w.output * 8,
                   .low = range_.low,
                   .high = range_.high});
    }
    const std::int64_t places = (last - first) * w.output;
    if (range_.more) range_.apply({y, static_cast<std::size_t>(places * 8)});
    if (work_.plain_y) {
      Turn(y, 8, work_.plain_y + Map(plane) * out_space + first * w.output, out_space, places,
           Channels(block));
    }
  }

 private:
  // Channels of a block, and the first map of a plane among those of a plain tensor.
  std::int64_t Channels(std::int64_t block) const {
    return std::min<std::int64_t>(8, work_.sizes.out_channels - block * 8);
  }
  std::int64_t Map(std::int64_t plane) const {
    return plane / blocks_ * work_.sizes.out_channels + plane % blocks_ * 8;
  }
  static void Turn(const float* from, std::int64_t from_stride, float* to, std::int64_t to_stride,
                   std::int64_t rows, std::int64_t columns) {
    transpose_tiles(rows, columns, reinterpret_cast<const std::uint32_t*>(from), from_stride,
                    reinterpret_cast<std::uint32_t*>(to), to_stride);
  }

  // The lines of the input that rows [first, last) of the output read.
  Range Lines(std::int64_t first, std::int64_t last) const {
    const auto& [d, h, w] = work_.sizes.window;
    if (d.input > 1 || d.output > 1) return {0, d.input * h.input};
    const std::int64_t low = std::clamp<std::int64_t>(start_of(h, first), 0, h.input);
    const std::int64_t high = start_of(h, last - 1) + (h.kernel - 1) * h.dilation + 1;
    return {low, std::clamp(high, low, h.input)};
  }

  // A copy of lines of a plane, with their padding if `padded_`.
  void Copy(std::int64_t plane, Range lines, float* to) const {
    const WindowAxis& w = work_.sizes.window[2];
    const std::int64_t in_space = input_size(work_.sizes.window), block = plane % blocks_;
    const std::int64_t before = padded_ ? std::min(w.before, line_) : 0;
    const std::int64_t inside = std::min(w.input, line_ - before);
    for (std::int64_t i = lines.first; i < lines.last; ++i, to += line_ * 8) {
      std::fill_n(to, before * 8, 0.0F);
      if (!work_.plain_x) {
        std::copy_n(work_.x + (plane * in_space + i * w.input) * 8, inside * 8, to + before * 8);
      } else {
        if (Channels(block) < 8) std::fill_n(to + before * 8, inside * 8, 0.0F);
        Turn(work_.plain_x + Map(plane) * in_space + i * w.input, in_space, to + before * 8, 8,
             Channels(block), inside);
      }
      std::fill_n(to + (before + inside) * 8, (line_ - before - inside) * 8, 0.0F);
    }
  }
  HWY_INLINE void RunRow(const DepthwiseRow& row, const DepthwiseFinish& finish) const {
    const WindowAxis& w = work_.sizes.window[2];
    for (std::int64_t o = 0; o < first_; ++o) WriteEdge(row, finish, o, taps_inside(w, o));
    row_function_(row, finish, first_, last_, w.kernel);
    for (std::int64_t o = last_; o < w.output; ++o) WriteEdge(row, finish, o, taps_inside(w, o));
  }

  const FloatDepthwiseWork& work_;
  const ConvRange range_;
  const std::int64_t blocks_;
  std::int64_t rows_, rows_of_part_, parts_, first_, last_, line_;
  bool padded_;
  const RowFunction row_function_ = RowFunctionFor(work_.sizes.window[2]);
};

void Depthwise(const FloatDepthwiseWork& work, ThreadPool& pool) {
  const DepthwiseJob job(work);
  pool.run(job.Count(), Ratio(kPartMacs / 4, std::max<std::int64_t>(1, job.Macs())),
           [&job](std::int64_t first, std::int64_t last) HWY_ATTR {
             for (std::int64_t i = first; i < last; ++i) job.Run(i);
           });
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

std::span<const Descriptor> depthwise_float_simd_descriptors() {
  using enum Instructions;
  static const Descriptor all[] = {
      {"rows", "float32", "", avx2, false, 0, FloatDepthwise{HWY_CHOOSE_AVX2(Depthwise)}},
      {"rows", "float32", "", baseline, true, 0, FloatDepthwise{HWY_STATIC_DISPATCH(Depthwise)}},
  };
  return all;
}

void depthwise_float(const FloatDepthwiseWork& work, ThreadPool& pool) {
  if (work.sizes.batch * output_size(work.sizes.window) > 0) choose<FloatDepthwise>(work).run(work, pool);
}

void depthwise_panels(std::int64_t channels, std::int64_t taps, const float* weights, float* to) {
  for (std::int64_t block = 0; block < channel_blocks(channels); ++block) {
    for (std::int64_t k = 0; k < taps; ++k) {
      for (std::int64_t c = block * 8; c < block * 8 + 8; ++c)
        *to++ = c < channels ? weights[c * taps + k] : 0;
    }
  }
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
