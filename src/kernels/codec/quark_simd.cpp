// SIMD twin of formats/quark.hpp. Values are divided by their block's power of two, rounded, and multiplied
// back; blocks at the ends of float32's range use the scalar codec.
#include "kernels/codec/quark_kernel.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/codec/quark_simd.cpp"
#include "hwy/foreach_target.h"
#include "kernels/codec/minifloat_element-inl.h"
#include "kernels/codec/nearest_integer-inl.h"

#ifndef ANYBIT_KERNELS_QUARK_SIMD_ONCE_
#define ANYBIT_KERNELS_QUARK_SIMD_ONCE_
namespace anybit::kernels {
struct QuarkElements {
  bool integer = true;
  MinifloatConstants minifloat = {};
  formats::Rounding rounding = formats::Rounding::half_even;
  float steps = 1, low = 0, high = 0;  // of integers: units in the scale, and their range
  int below = 0;                       // the scale is 2^(E - below)
};

// The largest magnitude and the largest positive value among the finite ones of a block, as bits.
struct QuarkMaxima {
  std::uint32_t magnitude, positive;
};
}  // namespace anybit::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

// Full vectors, then the rest padded with zeros.
template <class Body>
HWY_INLINE void ForVectors(const float* x, std::size_t n, const Body& body) {
  const DF d;
  Strides(
      n, [&](std::size_t i) HWY_ATTR { body(hn::LoadU(d, x + i)); },
      [&](std::size_t i, std::size_t rest) HWY_ATTR {
        HWY_ALIGN float buffer[hn::MaxLanes(d)] = {};
        std::memcpy(buffer, x + i, rest * sizeof(float));
        body(hn::Load(d, buffer));
      });
}

HWY_INLINE hn::Mask<DI> IsFinite(VI magnitude) { return hn::Lt(magnitude, hn::Set(DI(), 0x7F800000)); }
HWY_INLINE VI Magnitude(VF x) { return hn::And(hn::BitCast(DI(), x), hn::Set(DI(), 0x7FFFFFFF)); }

QuarkMaxima Maxima(const float* x, std::size_t n) {
  const DI di;
  VI magnitude = hn::Zero(di), positive = hn::Zero(di);
  ForVectors(x, n, [&](VF v) HWY_ATTR {
    const VI bits = hn::BitCast(di, v), one = Magnitude(v);
    const auto finite = IsFinite(one);
    magnitude = hn::Max(magnitude, hn::IfThenElseZero(finite, one));
    positive = hn::Max(positive, hn::IfThenElseZero(finite, bits));  // negative numbers have negative bits
  });
  return {static_cast<std::uint32_t>(hn::GetLane(hn::MaxOfLanes(di, magnitude))),
          static_cast<std::uint32_t>(hn::GetLane(hn::MaxOfLanes(di, positive)))};
}

void MaximaOfBlocks(const Groups& shape, const float* x, QuarkMaxima* maxima) {
  for (std::size_t g = 0; g < shape.groups; ++g) maxima[g] = Maxima(x + g * shape.size, shape.size);
}

template <formats::Rounding kRounding>
class QuarkIntegerElement {
 public:
  explicit QuarkIntegerElement(const QuarkElements& e)
      : steps_(hn::Set(DF(), e.steps)), low_(hn::Set(DF(), e.low)), high_(hn::Set(DF(), e.high)) {}
  HWY_INLINE VF operator()(VF quotient) const {
    const VF integer = hn::Min(hn::Max(Nearest<kRounding>(hn::Mul(quotient, steps_)), low_), high_);
    if constexpr (kRounding != formats::Rounding::half_even) return integer;
    // Only a quotient of -0 gives -0.
    const VF zero = hn::Zero(DF());
    return hn::IfThenZeroElse(hn::And(hn::Eq(integer, zero), hn::Ne(quotient, zero)), integer);
  }

 private:
  VF steps_, low_, high_;
};

class QuarkFloatElement {
 public:
  explicit QuarkFloatElement(const QuarkElements& e) : element_(e.minifloat) {}
  HWY_INLINE VF operator()(VF quotient) const {
    const VF value = element_.Round(quotient);
    return hn::IfThenZeroElse(hn::Eq(value, hn::Zero(DF())), value);
  }

 private:
  MinifloatElement element_;
};

template <class Element>
HWY_INLINE void RoundQuarkBlock(const Element& element, const float* x, std::size_t n, float before,
                                float after, float* out) {
  const DF d;
  const VF pre = hn::Set(d, before), post = hn::Set(d, after);
  const auto one = [&](VF v) HWY_ATTR {
    const VF value = hn::Mul(element(hn::Mul(v, pre)), post);
    return hn::IfThenElse(hn::RebindMask(d, IsFinite(Magnitude(v))), value, v);
  };
  Strides(
      n, [&](std::size_t i) HWY_ATTR { hn::StoreU(one(hn::LoadU(d, x + i)), d, out + i); },
      [&](std::size_t i, std::size_t rest) HWY_ATTR {
        HWY_ALIGN float buffer[hn::MaxLanes(d)] = {};
        std::memcpy(buffer, x + i, rest * sizeof(float));
        hn::Store(one(hn::Load(d, buffer)), d, buffer);
        std::memcpy(out + i, buffer, rest * sizeof(float));
      });
}

// Returns the first block whose scale is not a normal number, or whose unit or reciprocal is not.
template <class Element>
HWY_INLINE std::size_t RoundQuarkBlocks(const Element& element, const QuarkElements& e, const Groups& shape,
                                        std::size_t g, const float* x, const std::uint32_t* words,
                                        float* out) {
  const int finer = formats::exponent_of(e.steps);
  for (; g < shape.groups; ++g) {
    const int scale = static_cast<int>(words[g * shape.stride]) - e.below;
    if (scale - finer < -126 || scale > 126) break;
    RoundQuarkBlock(element, x + g * shape.size, shape.size, formats::power_of_two(-scale),
                    formats::power_of_two(scale - finer), out + g * shape.size);
  }
  return g;
}

std::size_t RoundQuark(const QuarkElements& e, const Groups& shape, std::size_t g, const float* x,
                       const std::uint32_t* words, float* out) {
  const auto with = [&](const auto& element)
                        HWY_ATTR { return RoundQuarkBlocks(element, e, shape, g, x, words, out); };
  if (!e.integer) return with(QuarkFloatElement(e));
  return WithNearest(e.rounding,
                     [&](auto rounding) HWY_ATTR { return with(QuarkIntegerElement<rounding.value>(e)); });
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <array>
#include <optional>

#include "formats/block_fp.hpp"
#include "formats/float_bits.hpp"
#include "formats/mx.hpp"

namespace anybit::kernels {
namespace {

HWY_EXPORT(MaximaOfBlocks);
HWY_EXPORT(RoundQuark);

using formats::Rounding;

int word_for(const formats::MxCodec& codec, QuarkMaxima maxima) {
  return codec.exponent_for(formats::float_of(maxima.magnitude));
}
int word_for(const formats::BlockFpCodec& codec, QuarkMaxima maxima) {
  return codec.exponent_for(formats::float_of(maxima.magnitude), formats::float_of(maxima.positive));
}

template <class Codec>
class QuarkKernel final : public GroupKernel {
 public:
  QuarkKernel(std::shared_ptr<const formats::Codec> codec, const Codec& known, const QuarkElements& elements)
      : codec_(std::move(codec)),
        known_(known),
        elements_(elements),
        plain_(plain_kernel(codec_, elements.rounding)) {}

  void choose(const Groups& shape, const float* x, std::uint32_t* words) const override {
    std::array<QuarkMaxima, kAtOnce> maxima;
    for (std::size_t first = 0; first < shape.groups; first += kAtOnce) {
      const std::size_t n = std::min(kAtOnce, shape.groups - first);
      HWY_DYNAMIC_DISPATCH(MaximaOfBlocks)({shape.size, n, 1}, x + first * shape.size, maxima.data());
      for (std::size_t i = 0; i < n; ++i)
        words[(first + i) * shape.stride] = formats::word_of(word_for(known_, maxima[i]));
    }
  }

  void quantize(const Groups& shape, const float* x, const std::uint32_t* words, const std::uint32_t*,
                float* out) const override {
    const auto fast = [&](std::size_t g) {
      return HWY_DYNAMIC_DISPATCH(RoundQuark)(elements_, shape, g, x, words, out);
    };
    for (std::size_t g = fast(0); g < shape.groups; g = fast(g + 1)) {
      const std::size_t at = g * shape.size;
      quantize_one({shape.size, 1, shape.stride}, x + at, words + g * shape.stride, out + at);
    }
  }

  void encode(const Groups& shape, const float* x, const std::uint32_t* words, const std::uint32_t* noise,
              CodesOut codes) const override {
    plain_->encode(shape, x, words, noise, codes);
  }
  void decode(const Groups& shape, CodesIn codes, const std::uint32_t* words, float* out) const override {
    plain_->decode(shape, codes, words, out);
  }

 private:
  static constexpr std::size_t kAtOnce = 256;

  // Blocks of zeros, which are common behind a Relu, have the lowest exponent.
  void quantize_one(const Groups& shape, const float* x, const std::uint32_t* word, float* out) const {
    const bool zeros = std::all_of(x, x + shape.size, [](float one) { return one == 0; });
    if (!zeros) return plain_->quantize(shape, x, word, nullptr, out);
    if (elements_.integer) {
      std::copy_n(x, shape.size, out);
    } else {
      std::fill_n(out, shape.size, 0.0f);
    }
  }

  std::shared_ptr<const formats::Codec> codec_;  // keeps known_ alive
  const Codec& known_;
  QuarkElements elements_;
  std::unique_ptr<const GroupKernel> plain_;
};

// Empty where the fast loops do not have the element or the rounding.
std::optional<QuarkElements> elements_of(const formats::MxCodec& codec, Rounding rounding) {
  if (!codec.options().quark || codec.options().scale_overflow == formats::ScaleOverflow::nan)
    return std::nullopt;
  if (codec.element().integer)
    return QuarkElements{
        .rounding = rounding, .steps = 64, .low = codec.options().symmetric ? -127.0f : -128.0f, .high = 127};
  const auto constants = constants_of(codec.element().layout, true);
  if (!constants || rounding != Rounding::half_even) return std::nullopt;
  return QuarkElements{.integer = false, .minifloat = *constants};
}

std::optional<QuarkElements> elements_of(const formats::BlockFpCodec& codec, Rounding rounding) {
  const formats::BlockFpLayout& layout = codec.layout();
  if (!layout.quark) return std::nullopt;
  return QuarkElements{.rounding = rounding,
                       .low = static_cast<float>(layout.lowest_integer()),
                       .high = static_cast<float>(layout.largest_magnitude()),
                       .below = layout.magnitude_bits()};
}

template <class Codec>
std::unique_ptr<const GroupKernel> kernel_of(const std::shared_ptr<const formats::Codec>& codec,
                                             Rounding rounding) {
  const auto* known = dynamic_cast<const Codec*>(codec.get());
  const auto elements = known ? elements_of(*known, rounding) : std::nullopt;
  return elements ? std::make_unique<const QuarkKernel<Codec>>(codec, *known, *elements) : nullptr;
}

}  // namespace

std::unique_ptr<const GroupKernel> quark_kernel(const std::shared_ptr<const formats::Codec>& codec,
                                                Rounding rounding) {
  if (!is_to_nearest(rounding)) return nullptr;
  auto mx = kernel_of<formats::MxCodec>(codec, rounding);
  return mx ? std::move(mx) : kernel_of<formats::BlockFpCodec>(codec, rounding);
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
