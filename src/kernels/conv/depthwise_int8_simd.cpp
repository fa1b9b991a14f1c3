// Two taps at a time: 8-bit values are widened to 16 bits, the two taps' channels interleaved, multiplied by
// pairs of weights and added in 32 bits. Positions outside the input count as the zero point; the bias
// corrects for it.
#include "kernels/conv/depthwise_int8.hpp"

#include <cstring>

#include "kernels/choose.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/depthwise_int8_simd.cpp"
#include "hwy/foreach_target.h"
#include "kernels/gemm/gemm_int8_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

inline constexpr std::int64_t kDepthwiseBlock = DepthwiseBlocks::kBlock;

// Weights and biases, of all taps or of some kernel rows.
struct DepthwiseTerms {
  const std::int16_t* weights[2];  // by part
  const std::int32_t* bias;
  const double* wide_bias;
  std::int64_t pairs;
};

// A block of 16 channels, for one output or for two or four adjacent ones.
template <class X, class Y, int kParts>
class DepthwiseLanes {
 public:
  explicit DepthwiseLanes(const IntegerDepthwise& work)
      : work_(work),
        low_(kQuantized ? static_cast<float>(kLow - work.y_zero) : 0.0f),
        high_(kQuantized ? static_cast<float>(kHigh - work.y_zero) : 0.0f) {}

#if HWY_TARGET == HWY_SCALAR
  template <int kOutputs>
  void Block(const DepthwiseTerms& terms, const X* const* taps, std::int64_t step, std::int64_t c,
             std::int64_t block, Y* to, std::int64_t to_step) const {
    for (std::int64_t i = 0; i < kOutputs * kDepthwiseBlock; ++i) {
      const std::int64_t slot = i % kDepthwiseBlock, o = i / kDepthwiseBlock;
      const std::int64_t place = DepthwiseBlocks::turned(slot), at = block * kDepthwiseBlock + slot;
      const std::int64_t first = (block * terms.pairs * kDepthwiseBlock + slot) * 2;
      std::uint32_t sum[kParts] = {};
      for (std::int64_t t = 0; t < 2 * terms.pairs; ++t) {
        const std::int32_t x = taps[t][o * step + c + place] - (std::is_same_v<X, std::uint16_t> ? 32768 : 0);
        for (int part = 0; part < kParts; ++part) {
          const std::int16_t weight = terms.weights[part][first + t / 2 * 2 * kDepthwiseBlock + t % 2];
          sum[part] += static_cast<std::uint32_t>(x * weight);
        }
      }
      to[o * to_step + place] = Result(terms, sum, at);
    }
  }

 private:
  Y Result(const DepthwiseTerms& terms, const std::uint32_t* sum, std::int64_t slot) const {
    float real = 0;
    if constexpr (kParts == 2) {
      const double upper = 256.0 * static_cast<std::int32_t>(sum[1]);
      real = static_cast<float>(static_cast<std::int32_t>(sum[0]) + upper + terms.wide_bias[slot]);
    } else {
      const auto whole = static_cast<std::int32_t>(sum[0] + static_cast<std::uint32_t>(terms.bias[slot]));
      if constexpr (std::is_same_v<Y, std::int32_t>) return whole;
      real = static_cast<float>(whole);
    }
    const float scaled = real * work_.multiplier[slot];
    if constexpr (std::is_same_v<Y, float>) return scaled + work_.addend[slot];
    const auto whole = static_cast<std::int32_t>(std::nearbyint(std::clamp(scaled, low_, high_)));
    return static_cast<Y>(whole + work_.y_zero);
  }
#else
  template <int kOutputs>
  HWY_INLINE void Block(const DepthwiseTerms& terms, const X* const* taps, std::int64_t step, std::int64_t c,
                        std::int64_t block, Y* to, std::int64_t to_step) const {
    constexpr auto kWide = static_cast<std::int64_t>(hn::MaxLanes(DH()));  // channels per vector
    HWY_UNROLL(2)
    for (std::int64_t v = 0; v < kDepthwiseBlock / kWide; ++v) {
      const std::int64_t weights = block * terms.pairs * 2 * kDepthwiseBlock + v * kWide;
      Vector<kOutputs>(terms, taps, step, c + v * kWide, weights, block * kDepthwiseBlock + v * kLanes,
                       to + v * kWide, to_step);
    }
  }

 private:
  using VF = hn::Vec<DF>;

  // The weights at `first` and the slot are those of the channels that interleaving puts first; the others
  // are 8 slots further.
  template <int kOutputs>
  HWY_NOINLINE void Vector(const DepthwiseTerms& terms, const X* const* taps, std::int64_t step,
                           std::int64_t c, std::int64_t first, std::int64_t slot, Y* to,
                           std::int64_t to_step) const {
    const DI d;
    const DH dh;
    VI sum[kParts][kOutputs][2], more[kParts][kOutputs][2];
    HWY_UNROLL(2)
    for (int part = 0; part < kParts; ++part) {
      HWY_UNROLL(4)
      for (int o = 0; o < kOutputs; ++o) {
        sum[part][o][0] = sum[part][o][1] = more[part][o][0] = more[part][o][1] = hn::Zero(d);
      }
    }
    for (std::int64_t p = 0; p < terms.pairs; ++p) {
      const X *one = taps[2 * p] + c, *two = taps[2 * p + 1] + c;
      const std::int64_t at = first + p * 2 * kDepthwiseBlock;
      VH weights[kParts][2];
      HWY_UNROLL(2)
      for (int part = 0; part < kParts; ++part) {
        weights[part][0] = hn::LoadU(dh, terms.weights[part] + at);
        weights[part][1] = hn::LoadU(dh, terms.weights[part] + at + kDepthwiseBlock);
      }
      HWY_UNROLL(4)
      for (int o = 0; o < kOutputs; ++o) {
        const VH x = Load(one + o * step), y = Load(two + o * step);
        const VH lower = hn::InterleaveLower(dh, x, y), upper = hn::InterleaveUpper(dh, x, y);
        HWY_UNROLL(2)
        for (int part = 0; part < kParts; ++part) {
          AddPairs(lower, weights[part][0], sum[part][o][0], more[part][o][0]);
          AddPairs(upper, weights[part][1], sum[part][o][1], more[part][o][1]);
        }
      }
    }
    HWY_UNROLL(4)
    for (int o = 0; o < kOutputs; ++o) {
      VI one[kParts], two[kParts];
      HWY_UNROLL(2)
      for (int part = 0; part < kParts; ++part) {
        one[part] = hn::RearrangeToOddPlusEven(sum[part][o][0], more[part][o][0]);
        two[part] = hn::RearrangeToOddPlusEven(sum[part][o][1], more[part][o][1]);
      }
      const std::int64_t other = slot + kDepthwiseBlock / 2;
      if constexpr (std::is_same_v<Y, std::int32_t>) {
        StoreInOrder(d, Total(terms, one, slot), Total(terms, two, other), to + o * to_step);
      } else {
        Store(Scaled(terms, one, slot), Scaled(terms, two, other), slot, to + o * to_step);
      }
    }
  }

  static HWY_INLINE VH Load(const X* from) {
    const DH dh;
    const hn::Rebind<X, DH> d;
    if constexpr (sizeof(X) == 1) {
      return hn::PromoteTo(dh, hn::LoadU(d, from));
    } else if constexpr (std::is_signed_v<X>) {
      return hn::LoadU(d, from);
    } else {
      return hn::BitCast(dh, hn::Xor(hn::LoadU(d, from), hn::Set(d, X{0x8000})));
    }
  }

  // The sum of all terms and the bias.
  static HWY_INLINE VI Total(const DepthwiseTerms& terms, const VI* sum, std::int64_t slot) {
    return hn::Add(sum[0], hn::LoadU(DI(), terms.bias + slot));
  }

  // The same as floats, rounded once: doubles are exact here.
  HWY_INLINE VF Scaled(const DepthwiseTerms& terms, const VI* sum, std::int64_t slot) const {
    const DF df;
    const VF multiplier = hn::LoadU(df, work_.multiplier + slot);
    if constexpr (kParts == 1) {
      return hn::Mul(hn::ConvertTo(df, Total(terms, sum, slot)), multiplier);
    } else {
      const hn::Half<DI> half;
      const auto lower =
          Joined(hn::LowerHalf(half, sum[0]), hn::LowerHalf(half, sum[1]), terms.wide_bias + slot);
      const auto upper = Joined(hn::UpperHalf(half, sum[0]), hn::UpperHalf(half, sum[1]),
                                terms.wide_bias + slot + kLanes / 2);
      return hn::Mul(hn::Combine(df, upper, lower), multiplier);
    }
  }
  using HalfSums = hn::Vec<hn::Half<DI> >;
  static HWY_INLINE hn::Vec<hn::Half<DF> > Joined(HalfSums lower, HalfSums upper, const double* bias) {
    const hn::Rebind<double, hn::Half<DI> > d;
    const auto whole = hn::Add(hn::Mul(hn::PromoteTo(d, upper), hn::Set(d, 256.0)), hn::PromoteTo(d, lower));
    return hn::DemoteTo(hn::Half<DF>(), hn::Add(whole, hn::LoadU(d, bias)));
  }

  HWY_INLINE void Store(VF one, VF two, std::int64_t slot, Y* to) const {
    const DF df;
    const DH dh;
    if constexpr (!kQuantized) {
      const std::int64_t other = slot + kDepthwiseBlock / 2;
      StoreInOrder(df, hn::Add(one, hn::LoadU(df, work_.addend + slot)),
                   hn::Add(two, hn::LoadU(df, work_.addend + other)), to);
    } else {
#if HWY_TARGET == HWY_AVX2
      if constexpr (sizeof(Y) == 1) {
        const hn::Full128<Y> bytes;
        return hn::StoreU(hn::DemoteTo(bytes, RoundForBytes(one, two, work_.y_zero)), bytes, to);
      }
#endif
      const VH quantized = hn::ReorderDemote2To(dh, Code(one), Code(two));
      const hn::Rebind<Y, DH> out;
      if constexpr (sizeof(Y) == 1) {
        hn::StoreU(hn::DemoteTo(out, quantized), out, to);
      } else {
        hn::StoreU(hn::Xor(hn::BitCast(out, quantized), hn::Set(out, static_cast<Y>(kLess))), out, to);
      }
    }
  }

  // Interleaving works within 128-bit lanes: with two of them, `one` has the first four channels of each
  // eight.
  template <class D, class V>
  static HWY_INLINE void StoreInOrder(D d, V one, V two, Y* to) {
    if constexpr (hn::MaxLanes(D()) > 4) {
      hn::StoreU(hn::ConcatLowerLower(d, two, one), d, to);
      hn::StoreU(hn::ConcatUpperUpper(d, two, one), d, to + kLanes);
    } else {
      hn::StoreU(one, d, to);
      hn::StoreU(two, d, to + kLanes);
    }
  }

  // The bounds are integers, so clamping before rounding is equal to clamping after it. Adding 1.5·2²³ rounds
  // half to even and leaves the integer in the low bits.
  HWY_INLINE VI Code(VF scaled) const {
    const DI d;
    const DF df;
    const auto clamped = hn::Min(hn::Max(scaled, hn::Set(df, low_)), hn::Set(df, high_));
    const VI less = hn::Set(d, 0x4B400000 - work_.y_zero + kLess);
    return hn::Sub(hn::BitCast(d, hn::Add(clamped, hn::Set(df, 12582912.0f))), less);
  }
  // uint16 results are made signed while they are narrowed to 16 bits.
  static constexpr std::int32_t kLess = std::is_same_v<Y, std::uint16_t> ? 32768 : 0;

#endif
  static constexpr bool kQuantized = sizeof(Y) <= 2;
  static constexpr std::int32_t kBits = 8 * static_cast<std::int32_t>(sizeof(Y) % 4);
  static constexpr std::int32_t kLow = std::is_signed_v<Y> ? -(1 << kBits >> 1) : 0;
  static constexpr std::int32_t kHigh = kLow + (1 << kBits) - 1;
  const IntegerDepthwise& work_;
  const float low_, high_;
};

// The kernel rows that are inside the input for one row of outputs, and where they start in the input.
template <class X>
struct DepthwiseLines {
  std::int64_t count = 0;
  std::int64_t line[IntegerDepthwise::kMostTaps];
  const X* at[IntegerDepthwise::kMostTaps];

  // Whether they differ from the last call's.
  bool Find(const IntegerDepthwise& work, std::int64_t row) {
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

// Buffers for the terms of some kernel rows.
struct DepthwiseRoom {
  std::int16_t* weights[2];
  std::int32_t* bias;
  double* wide_bias;
};

// The terms of these kernel rows only; the others would add nothing.
inline DepthwiseTerms TermsOf(const IntegerDepthwise& work, const std::int64_t* lines, std::int64_t count,
                              const DepthwiseRoom& room) {
  const std::int64_t width = work.sizes.window[2].kernel, taps = kernel_size(work.sizes.window);
  const std::int64_t all_pairs = (taps + 1) / 2, used = count * width, pairs = (used + 1) / 2;
  const DepthwiseBlocks blocks{work.sizes.out_channels};
  if (used == taps) return {{work.weights, work.upper}, work.bias, work.wide_bias, all_pairs};
  const int parts = work.upper ? 2 : 1;
  if (work.upper) {
    std::copy_n(work.wide_bias, blocks.slots(), room.wide_bias);
  } else {
    std::copy_n(work.bias, blocks.slots(), room.bias);
  }
  // The bias is corrected for taps that are left out.
  const auto leave_out = [&](std::int64_t slot, int part, std::int32_t weight) {
    if (work.upper) {
      room.wide_bias[slot] += static_cast<double>(work.left_zero()) * weight * (part == 1 ? 256 : 1);
    } else {
      room.bias[slot] = static_cast<std::int32_t>(static_cast<std::uint32_t>(room.bias[slot]) +
                                                  static_cast<std::uint32_t>(work.left_zero() * weight));
    }
  };
  for (std::int64_t i = 0; i < parts * blocks.count(); ++i) {
    const std::int64_t b = i / parts;
    const auto part = static_cast<int>(i % parts);
    const std::int16_t* from = (part == 1 ? work.upper : work.weights) + b * all_pairs * 2 * kDepthwiseBlock;
    std::int16_t* to = room.weights[part] + b * pairs * 2 * kDepthwiseBlock;
    std::int64_t next = 0;
    for (std::int64_t t = 0; t < taps; ++t) {
      const std::int16_t* one = from + t / 2 * 2 * kDepthwiseBlock + t % 2;
      const bool inside = next < used && lines[next / width] == t / width;
      std::int16_t* place = to + next / 2 * 2 * kDepthwiseBlock + next % 2;
      for (std::int64_t slot = 0; slot < kDepthwiseBlock; ++slot) {
        if (inside) {
          place[2 * slot] = one[2 * slot];
        } else {
          leave_out(b * kDepthwiseBlock + slot, part, one[2 * slot]);
        }
      }
      next += inside;
    }
    for (std::int64_t slot = 0; slot < kDepthwiseBlock && used % 2 != 0; ++slot)
      to[(pairs - 1) * 2 * kDepthwiseBlock + 2 * slot + 1] = 0;
  }
  return {{room.weights[0], room.weights[1]}, room.bias, room.wide_bias, pairs};
}

// Where the taps of consecutive outputs start.
template <class X>
class DepthwiseTaps {
 public:
  DepthwiseTaps(const IntegerDepthwise& work, const DepthwiseLines<X>& lines, const X* outside)
      : sizes_(work.sizes), axis_(work.sizes.window[2]), lines_(lines), outside_(outside) {
    const X* x = static_cast<const X*>(work.x);
    end_ = x + sizes_.batch * input_size(sizes_.window) * sizes_.in_channels;
    taps_[0] = outside;
  }

  void NextRow() { last_ = -1; }
  std::int64_t Step() const { return axis_.stride * sizes_.in_channels; }  // from output to output
  // Whether all taps of an output are inside the input.
  HWY_INLINE bool Inside(std::int64_t ow) const {
    const std::int64_t first = start_of(axis_, ow);
    return first >= 0 && first + (axis_.kernel - 1) * axis_.dilation < axis_.input;
  }

  // `whole`: all taps are inside.
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
    taps_[taps] = taps_[0];  // multiplied by a zero weight
    last_ = whole ? ow : -1;
    return taps_;
  }

 private:
  // Kernels read 16 elements even if there are fewer channels: the last ones are read from a copy.
  HWY_INLINE const X* Readable(const X* at, std::int64_t t) {
    if (sizes_.in_channels >= kDepthwiseBlock || end_ - at >= kDepthwiseBlock) return at;
    std::copy(at, end_, copies_ + t * kDepthwiseBlock);
    return copies_ + t * kDepthwiseBlock;
  }

  const ConvSizes& sizes_;
  const WindowAxis& axis_;
  const DepthwiseLines<X>& lines_;
  const X *outside_, *end_;
  std::int64_t last_ = -1;  // the output that the taps belong to, if all of them are inside
  const X* taps_[IntegerDepthwise::kMostTaps + 1];
  X copies_[IntegerDepthwise::kMostTaps * kDepthwiseBlock] = {};
};

template <class X, class Y, int kParts>
HWY_INLINE void DepthwiseRowsAs(const IntegerDepthwise& work, std::int64_t first, std::int64_t last) {
  const ConvSizes& sizes = work.sizes;
  const DepthwiseBlocks blocks{sizes.out_channels};
  const std::int64_t width = sizes.window[2].output, channels = sizes.out_channels;
  const std::int64_t together = sizes.window[2].stride == 1 ? blocks.outputs() : 1;  // outputs in a block
  const std::int64_t weights = blocks.slots() * (kernel_size(sizes.window) + 1);
  const auto slots = blocks.slots(), x_bytes = static_cast<std::int64_t>(sizeof(X));
  std::byte* scratch = gemm_scratch(slots * (8 + 4 + x_bytes) + 2 * weights * 2);
  auto* wide_bias = reinterpret_cast<double*>(scratch);
  auto* bias = reinterpret_cast<std::int32_t*>(wide_bias + slots);
  auto* some_weights = reinterpret_cast<std::int16_t*>(bias + slots);
  auto* outside = reinterpret_cast<X*>(some_weights + 2 * weights);
  const DepthwiseRoom room{{some_weights, some_weights + weights}, bias, wide_bias};
  std::fill_n(outside, blocks.slots(), static_cast<X>(work.x_zero));
  DepthwiseLines<X> lines;
  DepthwiseTaps<X> taps(work, lines, outside);
  DepthwiseTerms terms{};
  const DepthwiseLanes<X, Y, kParts> lanes(work);
  for (std::int64_t row = first; row < last; ++row) {
    if (lines.Find(work, row) || row == first) terms = TermsOf(work, lines.line, lines.count, room);
    taps.NextRow();
    for (std::int64_t ow = 0; ow < width;) {
      const auto whole = [&](std::int64_t count) {
        return ow + count <= width && taps.Inside(ow) && taps.Inside(ow + count - 1);
      };
      const bool few = channels < kDepthwiseBlock, one = whole(together) && (!few || together > 1);
      const bool two = one && whole(2 * together), four = kParts == 1 && two && whole(4 * together);
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
        if (four) {
          lanes.template Block<kParts == 1 ? 4 : 1>(terms, from, together * taps.Step(), c, b, to + c,
                                                    together * channels);
        } else if (two) {
          lanes.template Block<2>(terms, from, together * taps.Step(), c, b, to + c, together * channels);
        } else {
          lanes.template Block<1>(terms, from, 0, c, b, to + c, 0);
        }
      }
      ow += four ? 4 * together : two ? 2 * together : together;
    }
  }
}

template <class X, int kParts>
HWY_INLINE void DepthwiseRowsFrom(const IntegerDepthwise& work, std::int64_t first, std::int64_t last) {
  switch (work.result) {
    case IntegerResult::int8:
      return DepthwiseRowsAs<X, std::int8_t, kParts>(work, first, last);
    case IntegerResult::uint8:
      return DepthwiseRowsAs<X, std::uint8_t, kParts>(work, first, last);
    case IntegerResult::int16:
      return DepthwiseRowsAs<X, std::int16_t, kParts>(work, first, last);
    case IntegerResult::uint16:
      return DepthwiseRowsAs<X, std::uint16_t, kParts>(work, first, last);
    case IntegerResult::int32:
      if constexpr (sizeof(X) == 1) return DepthwiseRowsAs<X, std::int32_t, kParts>(work, first, last);
      return;
    case IntegerResult::float32:
      if constexpr (sizeof(X) == 1) return DepthwiseRowsAs<X, float, kParts>(work, first, last);
      return;
  }
}

template <class X>
HWY_INLINE void DepthwiseRowsOf16Bits(const IntegerDepthwise& work, std::int64_t first, std::int64_t last) {
  work.upper ? DepthwiseRowsFrom<X, 2>(work, first, last) : DepthwiseRowsFrom<X, 1>(work, first, last);
}

void DepthwiseRows(const IntegerDepthwise& work, std::int64_t first, std::int64_t last) {
  switch (work.x_type) {
    case IntegerType::int8:
      return DepthwiseRowsFrom<std::int8_t, 1>(work, first, last);
    case IntegerType::uint8:
      return DepthwiseRowsFrom<std::uint8_t, 1>(work, first, last);
    case IntegerType::int16:
      return DepthwiseRowsOf16Bits<std::int16_t>(work, first, last);
    case IntegerType::uint16:
      return DepthwiseRowsOf16Bits<std::uint16_t>(work, first, last);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

std::span<const Descriptor> depthwise_int8_simd_descriptors() {
  using enum Instructions;
  constexpr std::string_view kTypes = "8 or 16 bits", kTakes = "up to 256 taps";
  static const Descriptor all[] = {
      {"blocks of 16 channels", kTypes, kTakes, avx2, false, 0,
       DepthwiseConv{HWY_CHOOSE_AVX2(DepthwiseRows)}},
      {"blocks of 16 channels", kTypes, kTakes, baseline, true, 0,
       DepthwiseConv{HWY_STATIC_DISPATCH(DepthwiseRows)}},
  };
  return all;
}

void depthwise_integer(const IntegerDepthwise& work, std::int64_t first, std::int64_t last) {
  choose<DepthwiseConv>(work).run(work, first, last);
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
