// SIMD twin of formats/nvfp4.cpp: blocks of minifloats with an arbitrary step.
#include "formats/nvfp4.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/codec/nvfp4_simd.cpp"
#include "hwy/foreach_target.h"
#include "kernels/codec/minifloat_element-inl.h"

#ifndef ANYBIT_KERNELS_NVFP4_SIMD_ONCE_
#define ANYBIT_KERNELS_NVFP4_SIMD_ONCE_
#include "formats/float_bits.hpp"
namespace anybit::kernels {
// The element, and the values of the e4m3 codes of block scales.
struct Nvfp4Constants {
  MinifloatConstants element, scale;
  float scales[256];
  // Empty if the step is zero, or so large that the largest element overflows float32.
  float step(const std::uint32_t* words) const {
    const float step = scales[words[1] & 0xFF] * formats::float_of(words[0]);
    return step > 0 && step < 0x1p125f ? step : 0;
  }
};
}  // namespace anybit::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

// The e4m3 codes of the block scales, from the bits of the largest magnitudes, which are finite: twin of
// block_scale_for. Both arrays are padded to full vectors.
void ScaleCodes(const Nvfp4Constants& c, const std::uint32_t* maxima, std::size_t n, float tensor_scale,
                std::uint32_t* codes) {
  const DU du;
  const MinifloatElement element(c.scale);
  const VF six = hn::Set(DF(), 6.0f), by = hn::Set(DF(), tensor_scale);
  for (std::size_t i = 0; i < n; i += hn::Lanes(du)) {
    const VF largest = hn::BitCast(DF(), hn::LoadU(du, maxima + i));
    hn::StoreU(element.Code(hn::Div(hn::Div(largest, six), by)), du, codes + i);
  }
}

std::size_t RoundNvfp4(const Nvfp4Constants& c, const Groups& shape, std::size_t g, const float* x,
                       const std::uint32_t* words, float* out) {
  const MinifloatElement element(c.element);
  for (; g < shape.groups; ++g) {
    const float step = c.step(words + g * shape.stride);
    if (step == 0) break;
    RoundRun(element, Divide(), x + g * shape.size, shape.size, step, step, out + g * shape.size);
  }
  return g;
}

std::size_t CodeNvfp4(const Nvfp4Constants& c, const Groups& shape, std::size_t g, const float* x,
                      const std::uint32_t* words, CodesOut codes) {
  const MinifloatElement element(c.element);
  for (; g < shape.groups; ++g) {
    const float step = c.step(words + g * shape.stride);
    if (step == 0) break;
    CodeRun(element, Divide(), x + g * shape.size, shape.size, step, codes + g * shape.size);
  }
  return g;
}

std::size_t DecodeNvfp4(const Nvfp4Constants& c, const Groups& shape, std::size_t g, CodesIn codes,
                        const std::uint32_t* words, float* out) {
  return WithMinifloatDecoder(c.element, [&](const auto& decoder) HWY_ATTR {
    std::size_t at = g;
    for (; at < shape.groups; ++at) {
      const float step = c.step(words + at * shape.stride);
      if (step == 0) break;
      const VF factor = hn::Set(DF(), step);
      DecodeRun([&](VI code) HWY_ATTR { return hn::Mul(decoder(code), factor); }, codes + at * shape.size,
                shape.size, out + at * shape.size);
    }
    return at;
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <array>

#include "formats/block.hpp"
#include "kernels/codec/block_run_kernel.hpp"
#include "kernels/reduce/block_maxima.hpp"
#include "kernels/table.hpp"

namespace anybit::kernels {
namespace {

HWY_EXPORT(ScaleCodes);
HWY_EXPORT(RoundNvfp4);
HWY_EXPORT(CodeNvfp4);
HWY_EXPORT(DecodeNvfp4);

class Nvfp4Kernel final : public BlockRunKernel {
 public:
  explicit Nvfp4Kernel(const std::shared_ptr<const formats::Codec>& codec)
      : BlockRunKernel(codec), codec_(codec) {
    constants_.element = *constants_of(formats::Nvfp4Codec::kElement, true);
    constants_.scale = *constants_of(formats::Nvfp4Codec::kScale, true);
    for (std::size_t i = 0; i < 256; ++i) {
      constants_.scales[i] = formats::Nvfp4Codec::kScale.decode(static_cast<formats::Code16>(i));
    }
  }

  // Full vectors.
  std::size_t filled_up(std::size_t size) const override { return (size + 7) / 8 * 8; }

  bool choose_for_tensor(std::span<const float> values, std::uint32_t* words) const override {
    std::uint32_t largest = 0;
    block_maxima({values.size(), 1, 1}, values.data(), &largest);
    if (largest >= formats::kInfinityBits) return false;
    words[0] = formats::bits_of(formats::Nvfp4Codec::tensor_scale_for(formats::float_of(largest)));
    return true;
  }

  void choose(const Groups& shape, const float* x, std::uint32_t* words) const override {
    constexpr std::size_t kAtOnce = 256;
    std::array<std::uint32_t, kAtOnce> maxima{}, codes;
    for (std::size_t first = 0; first < shape.groups; first += kAtOnce) {
      const std::size_t n = std::min(kAtOnce, shape.groups - first);
      block_maxima({shape.size, n, 1}, x + first * shape.size, maxima.data());
      const float tensor_scale = formats::float_of(words[first * shape.stride]);  // the same for all blocks
      HWY_DYNAMIC_DISPATCH(ScaleCodes)(constants_, maxima.data(), n, tensor_scale, codes.data());
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t g = first + i;
        const formats::Words mine{words + g * shape.stride, shape.stride};
        if (maxima[i] < formats::kInfinityBits) {
          mine[1] = codes[i];
        } else {
          codec_->choose({x + g * shape.size, shape.size}, mine);
        }
      }
    }
  }

 protected:
  std::size_t round_blocks(const Groups& shape, std::size_t g, const float* x, const std::uint32_t* words,
                           float* out) const override {
    return HWY_DYNAMIC_DISPATCH(RoundNvfp4)(constants_, shape, g, x, words, out);
  }
  std::size_t code_blocks(const Groups& shape, std::size_t g, const float* x, const std::uint32_t* words,
                          CodesOut codes) const override {
    return HWY_DYNAMIC_DISPATCH(CodeNvfp4)(constants_, shape, g, x, words, codes);
  }
  std::size_t decode_blocks(const Groups& shape, std::size_t g, CodesIn codes, const std::uint32_t* words,
                            float* out) const override {
    return HWY_DYNAMIC_DISPATCH(DecodeNvfp4)(constants_, shape, g, codes, words, out);
  }

 private:
  std::shared_ptr<const formats::Codec> codec_;
  Nvfp4Constants constants_;
};

std::unique_ptr<const GroupKernel> make(const std::shared_ptr<const formats::Codec>& codec) {
  if (dynamic_cast<const formats::Nvfp4Codec*>(codec.get()) == nullptr) return nullptr;
  return std::make_unique<const Nvfp4Kernel>(codec);
}

}  // namespace

std::span<const Descriptor> nvfp4_simd_descriptors() {
  static const Descriptor all[] = {{.name = "nvfp4", .kernel = GroupCodec{make}}};
  return all;
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
