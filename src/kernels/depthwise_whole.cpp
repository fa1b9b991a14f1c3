// Two taps at a time: their channels are widened to 16 bits, laid side by side, multiplied by pairs of
// weights and added in 32 bits. Places outside the input count as the zero point, which the bias makes up
// for.
#include "kernels/depthwise_whole.hpp"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/depthwise_whole.cpp"
#include "hwy/foreach_target.h"
#include "kernels/gemm_whole_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

inline constexpr std::int64_t kDepthwiseBlock = DepthwiseBlocks::kBlock;

// Weights and biases, of all taps or of some lines of them.
struct DepthwiseTerms {
  const std::int16_t* weights;
  const std::int32_t* bias;
  std::int64_t pairs;
};

// 16 channels of a block, of one output or of two beside each other.
template <class X, class Y>
class DepthwiseLanes {
 public:
  explicit DepthwiseLanes(const DepthwiseWhole& work)
      : work_(work),
        low_(static_cast<float>(std::numeric_limits<Y>::min() - work.y_zero)),
        high_(static_cast<float>(std::numeric_limits<Y>::max() - work.y_zero)) {}

#if HWY_TARGET == HWY_SCALAR
  template <int kOutputs>
  void Block(const DepthwiseTerms& terms, const X* const* taps, std::int64_t step, std::int64_t c,
             std::int64_t block, Y* to, std::int64_t to_step) const {
    for (std::int64_t i = 0; i < kOutputs * kDepthwiseBlock; ++i) {
      const std::int64_t slot = i % kDepthwiseBlock, o = i / kDepthwiseBlock;
      const std::int64_t place = DepthwiseBlocks::turned(slot), at = block * kDepthwiseBlock + slot;
      const std::int16_t* w = terms.weights + (block * terms.pairs * kDepthwiseBlock + slot) * 2;
      auto sum = static_cast<std::uint32_t>(terms.bias[at]);
      for (std::int64_t t = 0; t < 2 * terms.pairs; ++t) {
        const std::int32_t x = taps[t][o * step + c + place];
        sum += static_cast<std::uint32_t>(x * w[t / 2 * 2 * kDepthwiseBlock + t % 2]);
      }
      const float scaled = static_cast<float>(static_cast<std::int32_t>(sum)) * work_.multiplier[at];
      const auto whole = static_cast<std::int32_t>(std::nearbyint(std::clamp(scaled, low_, high_)));
      to[o * to_step + place] = static_cast<Y>(whole + work_.y_zero);
    }
  }
#else
  template <int kOutputs>
  HWY_INLINE void Block(const DepthwiseTerms& terms, const X* const* taps, std::int64_t step, std::int64_t c,
                        std::int64_t block, Y* to, std::int64_t to_step) const {
    constexpr auto kWide = static_cast<std::int64_t>(hn::MaxLanes(DH()));  // channels of a vector
    HWY_UNROLL(2)
    for (std::int64_t v = 0; v < kDepthwiseBlock / kWide; ++v) {
      const std::int64_t weights = block * terms.pairs * 2 * kDepthwiseBlock + v * kWide;
      Vector<kOutputs>(terms, taps, step, c + v * kWide, weights, block * kDepthwiseBlock + v * kLanes,
                       to + v * kWide, to_step);
    }
  }

 private:
  // The weights from `first` and the slot are those of the channels that interleaving puts first; the others'
  // are 8 slots on.
  template <int kOutputs>
  HWY_NOINLINE void Vector(const DepthwiseTerms& terms, const X* const* taps, std::int64_t step,
                           std::int64_t c, std::int64_t first, std::int64_t slot, Y* to,
                           std::int64_t to_step) const {
    const DI d;
    const DH dh;
    const hn::Rebind<X, DH> narrow;
    VI sum[kOutputs][2], more[kOutputs][2];
    HWY_UNROLL(2)
    for (int o = 0; o < kOutputs; ++o) sum[o][0] = sum[o][1] = more[o][0] = more[o][1] = hn::Zero(d);
    const std::int16_t* weights = terms.weights + first;
    for (std::int64_t p = 0; p < terms.pairs; ++p) {
      const X *one = taps[2 * p] + c, *two = taps[2 * p + 1] + c;
      const VH lower = hn::LoadU(dh, weights), upper = hn::LoadU(dh, weights + kDepthwiseBlock);
      HWY_UNROLL(2)
      for (int o = 0; o < kOutputs; ++o) {
        const VH x = hn::PromoteTo(dh, hn::LoadU(narrow, one + o * step));
        const VH y = hn::PromoteTo(dh, hn::LoadU(narrow, two + o * step));
        AddPairs(hn::InterleaveLower(dh, x, y), lower, sum[o][0], more[o][0]);
        AddPairs(hn::InterleaveUpper(dh, x, y), upper, sum[o][1], more[o][1]);
      }
      weights += 2 * kDepthwiseBlock;
    }
    HWY_UNROLL(2)
    for (int o = 0; o < kOutputs; ++o) {
      const VI one = Code(terms, hn::RearrangeToOddPlusEven(sum[o][0], more[o][0]), slot);
      const VI two =
          Code(terms, hn::RearrangeToOddPlusEven(sum[o][1], more[o][1]), slot + kDepthwiseBlock / 2);
      const hn::Rebind<Y, DH> out;
      hn::StoreU(hn::DemoteTo(out, hn::ReorderDemote2To(dh, one, two)), out, to + o * to_step);
    }
  }

  // The bounds are whole numbers: clamping before rounding gives the same. Adding 1.5·2²³ rounds half to
  // even, and leaves the whole number in the low bits.
  HWY_INLINE VI Code(const DepthwiseTerms& terms, VI sum, std::int64_t slot) const {
    const DI d;
    const DF df;
    const VI all = hn::Add(sum, hn::LoadU(d, terms.bias + slot));
    const auto scaled = hn::Mul(hn::ConvertTo(df, all), hn::LoadU(df, work_.multiplier + slot));
    const auto clamped = hn::Min(hn::Max(scaled, hn::Set(df, low_)), hn::Set(df, high_));
    const VI less = hn::Set(d, 0x4B400000 - work_.y_zero);
    return hn::Sub(hn::BitCast(d, hn::Add(clamped, hn::Set(df, 12582912.0f))), less);
  }

#endif
 private:
  const DepthwiseWhole& work_;
  const float low_, high_;
};

// The lines of the kernel that lie inside the input for one row of outputs, and where they begin there.
template <class X>
struct DepthwiseLines {
  std::int64_t count = 0;
  std::int64_t line[DepthwiseWhole::kMostTaps];
  const X* at[DepthwiseWhole::kMostTaps];

  // Whether they are other lines than before.
  bool Find(const DepthwiseWhole& work, std::int64_t row) {
    const auto& [d, h, w] = work.sizes.window;
    const std::int64_t oh = row % h.output, od = row / h.output % d.output, n = row / (h.output * d.output);
    const Range depth = taps_inside(d, od), height = taps_inside(h, oh);
    std::int64_t found = 0;
    bool other = false;
    for (std::int64_t kd = depth.first; kd < depth.last; ++kd) {
      for (std::int64_t kh = height.first; kh < height.last; ++kh, ++found) {
        const std::int64_t id = start_of(d, od) + kd * d.dilation, ih = start_of(h, oh) + kh * h.dilation;
        other = other || found >= count || line[found] != kd * h.kernel + kh;
        line[found] = kd * h.kernel + kh;
        at[found] = static_cast<const X*>(work.x) +
                    ((n * d.input + id) * h.input + ih) * w.input * work.sizes.in_channels;
      }
    }
    other = other || found != count;
    count = found;
    return other;
  }
};

// Only what these lines take part in: those outside would add nothing.
inline DepthwiseTerms TermsOf(const DepthwiseWhole& work, const std::int64_t* lines, std::int64_t count,
                              std::int16_t* weights, std::int32_t* bias) {
  const std::int64_t width = work.sizes.window[2].kernel, taps = kernel_size(work.sizes.window);
  const std::int64_t all_pairs = (taps + 1) / 2, used = count * width, pairs = (used + 1) / 2;
  const DepthwiseBlocks blocks{work.sizes.out_channels};
  if (used == taps) return {work.weights, work.bias, all_pairs};
  std::copy_n(work.bias, blocks.slots(), bias);
  for (std::int64_t b = 0; b < blocks.count(); ++b) {
    const std::int16_t* from = work.weights + b * all_pairs * 2 * kDepthwiseBlock;
    std::int16_t* to = weights + b * pairs * 2 * kDepthwiseBlock;
    std::int64_t next = 0;
    for (std::int64_t t = 0; t < taps; ++t) {
      const std::int16_t* one = from + t / 2 * 2 * kDepthwiseBlock + t % 2;
      const bool inside = next < used && lines[next / width] == t / width;
      std::int16_t* place = to + next / 2 * 2 * kDepthwiseBlock + next % 2;
      for (std::int64_t slot = 0; slot < kDepthwiseBlock; ++slot) {
        if (inside) {
          place[2 * slot] = one[2 * slot];
        } else {  // the bias makes up for taps that are not there
          std::int32_t& total = bias[b * kDepthwiseBlock + slot];
          total = static_cast<std::int32_t>(static_cast<std::uint32_t>(total) +
                                            static_cast<std::uint32_t>(work.x_zero * one[2 * slot]));
        }
      }
      next += inside;
    }
    for (std::int64_t slot = 0; slot < kDepthwiseBlock && used % 2 != 0; ++slot)
      to[(pairs - 1) * 2 * kDepthwiseBlock + 2 * slot + 1] = 0;
  }
  return {weights, bias, pairs};
}

// Where the taps of one output after another begin.
template <class X>
class DepthwiseTaps {
 public:
  DepthwiseTaps(const DepthwiseWhole& work, const DepthwiseLines<X>& lines, const X* outside)
      : sizes_(work.sizes), axis_(work.sizes.window[2]), lines_(lines), outside_(outside) {
    const X* x = static_cast<const X*>(work.x);
    end_ = x + sizes_.batch * input_size(sizes_.window) * sizes_.in_channels;
    taps_[0] = outside;
  }

  void NextRow() { last_ = -1; }
  std::int64_t Step() const { return axis_.stride * sizes_.in_channels; }  // from output to output
  // No tap of this output is beside the input.
  HWY_INLINE bool Whole(std::int64_t ow) const {
    const std::int64_t first = start_of(axis_, ow);
    return first >= 0 && first + (axis_.kernel - 1) * axis_.dilation < axis_.input;
  }

  // `whole`: all that is read from the taps lies inside.
  HWY_INLINE const X* const* At(std::int64_t ow, bool whole) {
    const std::int64_t taps = lines_.count * axis_.kernel;
    if (whole && last_ >= 0) {
      const std::int64_t step = (ow - last_) * Step();
      for (std::int64_t t = 0; t < taps; ++t) taps_[t] += step;
    } else {
      for (std::int64_t t = 0; t < taps; ++t) {
        const std::int64_t iw = start_of(axis_, ow) + t % axis_.kernel * axis_.dilation;
        const X* line = lines_.at[t / axis_.kernel];
        taps_[t] = iw >= 0 && iw < axis_.input ? Readable(line + iw * sizes_.in_channels, t) : outside_;
      }
    }
    taps_[taps] = taps_[0];  // goes with a weight of zero
    last_ = whole ? ow : -1;
    return taps_;
  }

 private:
  // 16 elements are read, even if there are fewer channels: the last ones are read from a copy.
  HWY_INLINE const X* Readable(const X* at, std::int64_t t) {
    if (sizes_.in_channels >= kDepthwiseBlock || end_ - at >= kDepthwiseBlock) return at;
    std::copy(at, end_, copies_ + t * kDepthwiseBlock);
    return copies_ + t * kDepthwiseBlock;
  }

  const ConvSizes& sizes_;
  const WindowAxis& axis_;
  const DepthwiseLines<X>& lines_;
  const X *outside_, *end_;
  std::int64_t last_ = -1;  // the output that the taps are those of, if they are all inside
  const X* taps_[DepthwiseWhole::kMostTaps + 1];
  X copies_[DepthwiseWhole::kMostTaps * kDepthwiseBlock] = {};
};

template <class X, class Y>
HWY_INLINE void DepthwiseRowsAs(const DepthwiseWhole& work, std::int64_t first, std::int64_t last) {
  const ConvSizes& sizes = work.sizes;
  const DepthwiseBlocks blocks{sizes.out_channels};
  const std::int64_t width = sizes.window[2].output, channels = sizes.out_channels;
  const std::int64_t together = sizes.window[2].stride == 1 ? blocks.outputs() : 1;  // outputs in a block
  const std::int64_t weights = blocks.slots() * (kernel_size(sizes.window) + 1);
  std::byte* scratch = gemm_scratch(blocks.slots() * 5 + weights * 2);
  auto* bias = reinterpret_cast<std::int32_t*>(scratch);
  auto* some_weights = reinterpret_cast<std::int16_t*>(scratch + blocks.slots() * 4);
  auto* outside = reinterpret_cast<X*>(scratch + blocks.slots() * 4 + weights * 2);
  std::fill_n(outside, blocks.slots(), static_cast<X>(work.x_zero));
  DepthwiseLines<X> lines;
  DepthwiseTaps<X> taps(work, lines, outside);
  DepthwiseTerms terms{work.weights, work.bias, 0};
  const DepthwiseLanes<X, Y> lanes(work);
  for (std::int64_t row = first; row < last; ++row) {
    if (lines.Find(work, row) || row == first)
      terms = TermsOf(work, lines.line, lines.count, some_weights, bias);
    taps.NextRow();
    for (std::int64_t ow = 0; ow < width;) {
      const auto whole = [&](std::int64_t count) {
        return ow + count <= width && taps.Whole(ow) && taps.Whole(ow + count - 1);
      };
      const bool few = channels < kDepthwiseBlock, one = whole(together) && (!few || together > 1);
      const bool two = one && whole(2 * together);
      const X* const* from = taps.At(ow, one);
      Y* to = static_cast<Y*>(work.y) + (row * width + ow) * channels;
      if (few && !one) {
        Y all[kDepthwiseBlock];
        lanes.template Block<1>(terms, from, 0, 0, 0, all, 0);
        std::copy_n(all, channels, to);
        ++ow;
        continue;
      }
      for (std::int64_t b = 0; b < blocks.count(); ++b) {
        const std::int64_t c = blocks.start(b);
        if (two) {
          lanes.template Block<2>(terms, from, together * taps.Step(), c, b, to + c, together * channels);
        } else {
          lanes.template Block<1>(terms, from, 0, c, b, to + c, 0);
        }
      }
      ow += two ? 2 * together : together;
    }
  }
}

void DepthwiseRows(const DepthwiseWhole& work, std::int64_t first, std::int64_t last) {
  using S = std::int8_t;
  using U = std::uint8_t;
  if (work.x_signed) {
    work.y_signed ? DepthwiseRowsAs<S, S>(work, first, last) : DepthwiseRowsAs<S, U>(work, first, last);
  } else {
    work.y_signed ? DepthwiseRowsAs<U, S>(work, first, last) : DepthwiseRowsAs<U, U>(work, first, last);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

HWY_EXPORT(DepthwiseRows);

void depthwise_whole(const DepthwiseWhole& work, std::int64_t first, std::int64_t last) {
  HWY_DYNAMIC_DISPATCH(DepthwiseRows)(work, first, last);
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
