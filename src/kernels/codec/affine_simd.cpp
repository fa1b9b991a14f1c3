// SIMD twin of formats/affine.cpp and formats/fixed.cpp: integers times a scale.
#include "formats/affine.hpp"
#include "formats/fixed.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/codec/affine_simd.cpp"
#include "hwy/foreach_target.h"
#include "kernels/codec/group_kernel.hpp"
#include "kernels/codec/group_loops-inl.h"

#ifndef ANYBIT_KERNELS_AFFINE_SIMD_ONCE_
#define ANYBIT_KERNELS_AFFINE_SIMD_ONCE_
namespace anybit::kernels {
// One group: x becomes clamp(round(x / divisor), lowest, highest) + zero_point.
struct AffineGroup {
  float scale = 1;
  int zero_point = 0;
  int lowest = 0, highest = 0;  // relative to the zero point
  int bits = 8;
  bool is_signed = true;
};
}  // namespace anybit::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

class AffineElement {
 public:
  explicit AffineElement(const AffineGroup& group) : group_(group) {}
  HWY_INLINE VI Integer(VF quotient) const {
    const DF d;
    const VF number = hn::IfThenElseZero(hn::Eq(quotient, quotient), quotient);  // NaN becomes zero
    const VF low = hn::Set(d, static_cast<float>(group_.lowest)),
             high = hn::Set(d, static_cast<float>(group_.highest));
    return hn::NearestInt(hn::Min(hn::Max(number, low), high));
  }
  HWY_INLINE VF Round(VF quotient) const { return hn::ConvertTo(DF(), Integer(quotient)); }
  HWY_INLINE VU Code(VF quotient) const {
    const DI di;
    const VI shifted = hn::Add(Integer(quotient), hn::Set(di, group_.zero_point));
    return hn::BitCast(DU(), hn::And(shifted, hn::Set(di, (1 << group_.bits) - 1)));
  }

 private:
  AffineGroup group_;
};

void RoundAffine(const AffineGroup& group, const float* x, std::size_t n, float* out) {
  RoundRun(AffineElement(group), Divide(), x, n, group.scale, group.scale, out);
}

void CodeAffine(const AffineGroup& group, const float* x, std::size_t n, CodesOut codes) {
  CodeRun(AffineElement(group), Divide(), x, n, group.scale, codes);
}

void DecodeAffine(const AffineGroup& group, CodesIn codes, std::size_t n, float* out) {
  const DF d;
  const DI di;
  const int unused = 32 - group.bits;
  const VI zero_point = hn::Set(di, group.zero_point);
  const VF scale = hn::Set(d, group.scale);
  const auto decode = [&](VI code) HWY_ATTR {
    // Shifts the code to the top and back, which extends its sign and drops stray bits above it.
    const VI top = hn::ShiftLeftSame(code, unused);
    const VI integer = group.is_signed ? hn::ShiftRightSame(top, unused)
                                       : hn::BitCast(di, hn::ShiftRightSame(hn::BitCast(DU(), top), unused));
    return hn::Mul(hn::ConvertTo(d, hn::Sub(integer, zero_point)), scale);
  };
  DecodeRun(decode, codes, n, out);
}

// The minimum and maximum of the finite values and zero.
void RangeAffine(const float* x, std::size_t n, float* range) {
  const DF d;
  VF low = hn::Zero(d), high = hn::Zero(d);
  const auto look = [&](VF v) HWY_ATTR {
    const VF finite = hn::IfThenElseZero(hn::IsFinite(v), v);
    low = hn::Min(low, finite);
    high = hn::Max(high, finite);
  };
  Strides(
      n, [&](std::size_t i) HWY_ATTR { look(hn::LoadU(d, x + i)); },
      [&](std::size_t i, std::size_t rest) HWY_ATTR {
        HWY_ALIGN float buffer[hn::MaxLanes(d)] = {};
        std::memcpy(buffer, x + i, rest * sizeof(float));
        look(hn::Load(d, buffer));
      });
  range[0] = hn::GetLane(hn::MinOfLanes(d, low));
  range[1] = hn::GetLane(hn::MaxOfLanes(d, high));
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "formats/float_bits.hpp"
#include "kernels/table.hpp"

namespace anybit::kernels {
namespace {

HWY_EXPORT(RoundAffine);
HWY_EXPORT(CodeAffine);
HWY_EXPORT(DecodeAffine);
HWY_EXPORT(RangeAffine);

// Both families; a group's words give its AffineGroup.
class IntegerKernel : public GroupKernel {
 public:
  void quantize(const Groups& shape, const float* x, const std::uint32_t* words, const std::uint32_t*,
                float* out) const final {
    each(shape, words, [&](const AffineGroup& group, std::size_t at) {
      HWY_DYNAMIC_DISPATCH(RoundAffine)(group, x + at, shape.size, out + at);
    });
  }
  void encode(const Groups& shape, const float* x, const std::uint32_t* words, const std::uint32_t*,
              CodesOut codes) const final {
    each(shape, words, [&](const AffineGroup& group, std::size_t at) {
      HWY_DYNAMIC_DISPATCH(CodeAffine)(group, x + at, shape.size, codes + at);
    });
  }
  void decode(const Groups& shape, CodesIn codes, const std::uint32_t* words, float* out) const final {
    each(shape, words, [&](const AffineGroup& group, std::size_t at) {
      HWY_DYNAMIC_DISPATCH(DecodeAffine)(group, codes + at, shape.size, out + at);
    });
  }

 protected:
  virtual AffineGroup group_of(formats::ConstWords words) const = 0;

 private:
  template <class Body>
  void each(const Groups& shape, const std::uint32_t* words, const Body& body) const {
    for (std::size_t g = 0; g < shape.groups; ++g) {
      body(group_of({words + g * shape.stride, shape.stride}), g * shape.size);
    }
  }
};

class AffineKernel final : public IntegerKernel {
 public:
  explicit AffineKernel(std::shared_ptr<const formats::Codec> codec, const formats::AffineCodec& affine)
      : codec_(std::move(codec)), affine_(affine) {}

  void choose(const Groups& shape, const float* x, std::uint32_t* words) const override {
    for (std::size_t g = 0; g < shape.groups; ++g) {
      float range[2];
      HWY_DYNAMIC_DISPATCH(RangeAffine)(x + g * shape.size, shape.size, range);
      affine_.choose(range, {words + g * shape.stride, shape.stride});  // depends on the range only
    }
  }

 protected:
  AffineGroup group_of(formats::ConstWords words) const override {
    const formats::AffineLayout& layout = affine_.layout();
    const auto [scale, zero_point] = affine_.parameters(words);
    return {.scale = scale,
            .zero_point = zero_point,
            .lowest = layout.lowest() - zero_point,
            .highest = layout.highest() - zero_point,
            .bits = layout.bits,
            .is_signed = layout.is_signed};
  }

 private:
  std::shared_ptr<const formats::Codec> codec_;  // keeps affine_ alive
  const formats::AffineCodec& affine_;
};

// Fixed point with given fraction bits: dividing by a power of two is exact.
class FixedKernel final : public IntegerKernel {
 public:
  explicit FixedKernel(const AffineGroup& group) : group_(group) {}
  void choose(const Groups&, const float*, std::uint32_t*) const override {}

 protected:
  AffineGroup group_of(formats::ConstWords) const override { return group_; }

 private:
  AffineGroup group_;
};

std::unique_ptr<const GroupKernel> make(const std::shared_ptr<const formats::Codec>& codec) {
  if (const auto* affine = dynamic_cast<const formats::AffineCodec*>(codec.get())) {
    return std::make_unique<const AffineKernel>(codec, *affine);
  }
  const auto* fixed = dynamic_cast<const formats::FixedCodec*>(codec.get());
  if (fixed == nullptr || fixed->words(1) != 0 || !fixed->layout().has_codes()) return nullptr;
  const formats::FixedLayout& layout = fixed->layout();
  const int frac = fixed->frac({});
  if (frac < -100 || frac > 100) return nullptr;  // quotients would leave float32's normal numbers
  return std::make_unique<const FixedKernel>(AffineGroup{.scale = formats::power_of_two(-frac),
                                                         .zero_point = 0,
                                                         .lowest = static_cast<int>(layout.lowest()),
                                                         .highest = static_cast<int>(layout.highest()),
                                                         .bits = layout.bits,
                                                         .is_signed = layout.is_signed});
}

}  // namespace

std::span<const Descriptor> affine_simd_descriptors() {
  static const Descriptor all[] = {{.name = "affine", .kernel = GroupCodec{make}}};
  return all;
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
