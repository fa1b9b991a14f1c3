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

// One output's 16 channels of a block.
template <class X, class Y>
class DepthwiseLanes {
 public:
  explicit DepthwiseLanes(const DepthwiseWhole& work)
      : work_(work),
        low_(static_cast<float>(std::numeric_limits<Y>::min() - work.y_zero)),
        high_(static_cast<float>(std::numeric_limits<Y>::max() - work.y_zero)) {}

#if HWY_TARGET == HWY_SCALAR
  void operator()(const X* const* taps, std::int64_t pairs, std::int64_t c, std::int64_t block, Y* to) const {
    for (std::int64_t slot = 0; slot < kDepthwiseBlock; ++slot) {
      const std::int64_t place = DepthwiseBlocks::turned(slot), at = block * kDepthwiseBlock + slot;
      const std::int16_t* w = work_.weights + (block * pairs * kDepthwiseBlock + slot) * 2;
      auto sum = static_cast<std::uint32_t>(work_.bias[at]);
      for (std::int64_t t = 0; t < 2 * pairs; ++t) {
        sum += static_cast<std::uint32_t>(taps[t][c + place] * w[t / 2 * 2 * kDepthwiseBlock + t % 2]);
      }
      const float scaled = static_cast<float>(static_cast<std::int32_t>(sum)) * work_.multiplier[at];
      to[place] = static_cast<Y>(static_cast<std::int32_t>(std::nearbyint(std::clamp(scaled, low_, high_))) +
                                 work_.y_zero);
    }
  }
#else
  HWY_INLINE void operator()(const X* const* taps, std::int64_t pairs, std::int64_t c, std::int64_t block,
                             Y* to) const {
    constexpr auto kWide = static_cast<std::int64_t>(hn::MaxLanes(DH()));  // channels of a vector
    const std::int16_t* weights = work_.weights + block * pairs * 2 * kDepthwiseBlock;
    HWY_UNROLL(2)
    for (std::int64_t v = 0; v < kDepthwiseBlock / kWide; ++v) {
      Vector(taps, pairs, c + v * kWide, weights + v * kWide, block * kDepthwiseBlock + v * kLanes,
             to + v * kWide);
    }
  }

 private:
  // `weights` and `slot` are those of the channels that interleaving puts first; the others' are 8 slots on.
  HWY_INLINE void Vector(const X* const* taps, std::int64_t pairs, std::int64_t c,
                         const std::int16_t* weights, std::int64_t slot, Y* to) const {
    const DI d;
    const DH dh;
    VI sum0 = hn::Zero(d), more0 = hn::Zero(d), sum1 = hn::Zero(d), more1 = hn::Zero(d);
    const hn::Rebind<X, DH> narrow;
    for (std::int64_t p = 0; p < pairs; ++p) {
      const VH one = hn::PromoteTo(dh, hn::LoadU(narrow, taps[2 * p] + c));
      const VH two = hn::PromoteTo(dh, hn::LoadU(narrow, taps[2 * p + 1] + c));
      AddPairs(hn::InterleaveLower(dh, one, two), hn::LoadU(dh, weights), sum0, more0);
      AddPairs(hn::InterleaveUpper(dh, one, two), hn::LoadU(dh, weights + kDepthwiseBlock), sum1, more1);
      weights += 2 * kDepthwiseBlock;
    }
    const VI codes0 = Code(hn::RearrangeToOddPlusEven(sum0, more0), slot);
    const VI codes1 = Code(hn::RearrangeToOddPlusEven(sum1, more1), slot + kDepthwiseBlock / 2);
    const hn::Rebind<Y, DH> out;
    hn::StoreU(hn::DemoteTo(out, hn::ReorderDemote2To(dh, codes0, codes1)), out, to);
  }

  // The bounds are whole numbers: clamping before rounding gives the same. Adding 1.5·2²³ rounds half to
  // even, and leaves the whole number in the low bits.
  HWY_INLINE VI Code(VI sum, std::int64_t slot) const {
    const DI d;
    const DF df;
    const VI all = hn::Add(sum, hn::LoadU(d, work_.bias + slot));
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

// Where the taps of one output after another begin.
template <class X>
class DepthwiseTaps {
 public:
  DepthwiseTaps(const DepthwiseWhole& work, const X* outside)
      : sizes_(work.sizes), x_(static_cast<const X*>(work.x)), outside_(outside) {
    taps_[kernel_size(sizes_.window)] = outside;  // goes with a weight of zero
  }

  void Row(std::int64_t row) {
    const auto& [d, h, w] = sizes_.window;
    const std::int64_t oh = row % h.output, od = row / h.output % d.output, n = row / (h.output * d.output);
    for (std::int64_t kd = 0; kd < d.kernel; ++kd) {
      for (std::int64_t kh = 0; kh < h.kernel; ++kh) {
        const std::int64_t id = start_of(d, od) + kd * d.dilation, ih = start_of(h, oh) + kh * h.dilation;
        const bool inside = id >= 0 && id < d.input && ih >= 0 && ih < h.input;
        lines_[kd * h.kernel + kh] =
            inside ? x_ + ((n * d.input + id) * h.input + ih) * w.input * sizes_.in_channels : nullptr;
      }
    }
    whole_ = false;
  }

  HWY_INLINE const X* const* At(std::int64_t ow) {
    const auto& [d, h, w] = sizes_.window;
    const std::int64_t first = start_of(w, ow), taps = kernel_size(sizes_.window);
    const bool whole = first >= 0 && first + (w.kernel - 1) * w.dilation < w.input;
    if (whole && whole_ && sizes_.in_channels >= kDepthwiseBlock) {
      for (std::int64_t t = 0; t < taps; ++t) taps_[t] += steps_[t];
      return taps_;
    }
    whole_ = whole;
    for (std::int64_t line = 0; line < d.kernel * h.kernel; ++line) {
      for (std::int64_t kw = 0; kw < w.kernel; ++kw) {
        const std::int64_t iw = first + kw * w.dilation, t = line * w.kernel + kw;
        const bool inside = lines_[line] && iw >= 0 && iw < w.input;
        taps_[t] = inside ? Readable(lines_[line] + iw * sizes_.in_channels, t) : outside_;
        steps_[t] = lines_[line] ? w.stride * sizes_.in_channels : 0;
      }
    }
    return taps_;
  }

 private:
  // 16 elements are read, even if there are fewer channels: the last ones are read from a copy.
  HWY_INLINE const X* Readable(const X* at, std::int64_t t) {
    if (sizes_.in_channels >= kDepthwiseBlock) return at;
    const X* end = x_ + sizes_.batch * input_size(sizes_.window) * sizes_.in_channels;
    if (at + kDepthwiseBlock <= end) return at;
    return std::copy(at, end, last_ + t * kDepthwiseBlock) - (end - at);
  }

  const ConvSizes& sizes_;
  const X* x_;
  const X* outside_;
  bool whole_ = false;  // the taps of the output before were all inside the row
  const X* lines_[DepthwiseWhole::kMostTaps];
  const X* taps_[DepthwiseWhole::kMostTaps + 1];
  std::int64_t steps_[DepthwiseWhole::kMostTaps];
  X last_[DepthwiseWhole::kMostTaps * kDepthwiseBlock] = {};
};

template <class X, class Y>
HWY_INLINE void DepthwiseRowsAs(const DepthwiseWhole& work, std::int64_t first, std::int64_t last) {
  const ConvSizes& sizes = work.sizes;
  const DepthwiseBlocks blocks{sizes.out_channels};
  const std::int64_t width = sizes.window[2].output, pairs = (kernel_size(sizes.window) + 1) / 2;
  auto* outside = reinterpret_cast<X*>(gemm_scratch(blocks.slots()));
  std::fill_n(outside, blocks.slots(), static_cast<X>(work.x_zero));
  DepthwiseTaps<X> taps(work, outside);
  const DepthwiseLanes<X, Y> lanes(work);
  for (std::int64_t row = first; row < last; ++row) {
    taps.Row(row);
    for (std::int64_t ow = 0; ow < width; ++ow) {
      const X* const* from = taps.At(ow);
      Y* to = static_cast<Y*>(work.y) + (row * width + ow) * blocks.channels;
      if (blocks.channels < kDepthwiseBlock) {
        Y all[kDepthwiseBlock];
        lanes(from, pairs, 0, 0, all);
        std::copy_n(all, blocks.channels, to);
        continue;
      }
      for (std::int64_t b = 0; b < blocks.count(); ++b) {
        const std::int64_t c = blocks.start(b);
        lanes(from, pairs, c, b, to + c);
      }
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
