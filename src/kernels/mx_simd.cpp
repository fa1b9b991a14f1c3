// SIMD twin of formats/mx.cpp.
#include "formats/mx.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/mx_simd.cpp"
#include "hwy/foreach_target.h"
#include "kernels/minifloat_element-inl.h"
#include "kernels/shared_exponent-inl.h"

namespace anybit::kernels {
#ifndef ANYBIT_KERNELS_MX_SIMD_ONCE_
#define ANYBIT_KERNELS_MX_SIMD_ONCE_
struct MxFast {
  bool integer = false;
  bool symmetric = false;
  MinifloatConstants element;
  SharedExponent scale;
};
#endif
}  // namespace anybit::kernels

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

HWY_INLINE WholeElement Int8Element(const MxFast& mx) {
  return {.units = 64, .lowest = mx.symmetric ? -127.0f : -128.0f, .highest = 127, .mask = 0xFF};
}

std::size_t RoundMx(const MxFast& mx, const Groups& shape, std::size_t g, const float* x,
                    const std::uint32_t* words, float* out) {
  if (mx.integer) return RoundBlocks(Int8Element(mx), mx.scale, shape, g, x, words, out);
  return RoundBlocks(MinifloatElement(mx.element), mx.scale, shape, g, x, words, out);
}

std::size_t CodeMx8(const MxFast& mx, const Groups& shape, std::size_t g, const float* x,
                    const std::uint32_t* words, std::uint8_t* codes) {
  if (mx.integer) return CodeBlocks(Int8Element(mx), mx.scale, shape, g, x, words, codes);
  return CodeBlocks(MinifloatElement(mx.element), mx.scale, shape, g, x, words, codes);
}

std::size_t CodeMx16(const MxFast& mx, const Groups& shape, std::size_t g, const float* x,
                     const std::uint32_t* words, std::uint16_t* codes) {
  if (mx.integer) return CodeBlocks(Int8Element(mx), mx.scale, shape, g, x, words, codes);
  return CodeBlocks(MinifloatElement(mx.element), mx.scale, shape, g, x, words, codes);
}

void LargestMx(const Groups& shape, const float* x, std::uint32_t* words) {
  LargestOfBlocks(shape, x, words);
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "kernels/shared_exponent_kernel.hpp"
#include "kernels/table.hpp"

namespace anybit::kernels {
namespace {

HWY_EXPORT(RoundMx);
HWY_EXPORT(CodeMx8);
HWY_EXPORT(CodeMx16);
HWY_EXPORT(LargestMx);

class MxKernel final : public SharedExponentKernel {
 public:
  MxKernel(const std::shared_ptr<const formats::Codec>& codec, const formats::MxCodec& mx, const MxFast& fast)
      : SharedExponentKernel(codec, fast.scale), codec_(codec), mx_(mx), fast_(fast) {}

  void choose(const Groups& shape, const float* x, std::uint32_t* words) const override {
    HWY_DYNAMIC_DISPATCH(LargestMx)(shape, x, words);
    for (std::size_t g = 0; g < shape.groups; ++g) {
      std::uint32_t& word = words[g * shape.stride];
      // Inf and NaN reach here only where they make the whole block NaN.
      word = static_cast<std::uint32_t>(word >= 0x7F800000u ? formats::MxCodec::kNanExponent
                                                            : mx_.exponent_for(formats::float_of(word)));
    }
  }

 protected:
  std::size_t round_blocks(const Groups& shape, std::size_t g, const float* x, const std::uint32_t* words,
                           float* out) const override {
    return HWY_DYNAMIC_DISPATCH(RoundMx)(fast_, shape, g, x, words, out);
  }
  std::size_t code_blocks(const Groups& shape, std::size_t g, const float* x, const std::uint32_t* words,
                          std::uint8_t* codes) const override {
    return HWY_DYNAMIC_DISPATCH(CodeMx8)(fast_, shape, g, x, words, codes);
  }
  std::size_t code_blocks(const Groups& shape, std::size_t g, const float* x, const std::uint32_t* words,
                          std::uint16_t* codes) const override {
    return HWY_DYNAMIC_DISPATCH(CodeMx16)(fast_, shape, g, x, words, codes);
  }

 private:
  std::shared_ptr<const formats::Codec> codec_;  // keeps mx_ alive
  const formats::MxCodec& mx_;
  MxFast fast_;
};

std::unique_ptr<const GroupKernel> make(const std::shared_ptr<const formats::Codec>& codec) {
  const auto* mx = dynamic_cast<const formats::MxCodec*>(codec.get());
  if (mx == nullptr || mx->options().nonfinite == formats::Nonfinite::element) return nullptr;
  MxFast fast{
      .integer = mx->element().integer, .symmetric = mx->options().symmetric, .element = {}, .scale = {}};
  // A block whose values may leave float32 at the top, and NaN blocks above it, go the plain way.
  fast.scale = {.low = formats::MxCodec::kLowestExponent,
                .high = (fast.integer ? 126 : 127) - mx->element().largest_exponent(),
                .before = 0,
                .after = fast.integer ? -6 : 0};
  if (!fast.integer) {
    const auto constants = constants_of(mx->element().layout, true);
    if (!constants) return nullptr;
    fast.element = *constants;
  }
  return std::make_unique<const MxKernel>(codec, *mx, fast);
}

}  // namespace

std::span<const Descriptor> mx_simd_descriptors() {
  static const Descriptor all[] = {{.name = "mx", .make = make}};
  return all;
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
