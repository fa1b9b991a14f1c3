// SIMD twin of formats/bfp_prime.cpp: each value is scaled by the step of its sub-block.
#include "formats/bfp_prime.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/codec/bfp_prime_simd.cpp"
#include "hwy/foreach_target.h"
#include "kernels/codec/nearest_integer-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

// `steps`: of each value, as float32 bits of normal numbers whose reciprocals are normal numbers too;
// followed by a vector of any.
template <formats::Rounding kRounding>
void RoundBySteps(const float* x, const std::uint32_t* steps, std::size_t n, float largest, float* out) {
  const DF d;
  const DU du;
  const VF most = hn::Set(d, largest), smallest_normal = hn::Set(d, 0x1p-126f);
  const VU of_one_twice = hn::Set(du, 254u << 23);
  const auto one = [&](VF v, std::size_t i) HWY_ATTR {
    const VU step = hn::LoadU(du, steps + i);
    const VF kept = hn::IfThenZeroElse(hn::Lt(hn::Abs(v), smallest_normal), v);
    const VF units = hn::Mul(kept, hn::BitCast(d, hn::Sub(of_one_twice, step)));
    const VF magnitude = hn::Min(hn::Abs(Nearest<kRounding>(units)), most);
    return hn::CopySignToAbs(hn::Mul(magnitude, hn::BitCast(d, step)), v);
  };
  Strides(
      n, [&](std::size_t i) HWY_ATTR { hn::StoreU(one(hn::LoadU(d, x + i), i), d, out + i); },
      [&](std::size_t i, std::size_t rest) HWY_ATTR {
        HWY_ALIGN float buffer[hn::MaxLanes(d)] = {};
        std::memcpy(buffer, x + i, rest * sizeof(float));
        hn::Store(one(hn::Load(d, buffer), i), d, buffer);
        std::memcpy(out + i, buffer, rest * sizeof(float));
      });
}

void RoundPrime(formats::Rounding rounding, const float* x, const std::uint32_t* steps, std::size_t n,
                float largest, float* out) {
  WithNearest(rounding, [&](auto chosen) HWY_ATTR {
    RoundBySteps<chosen.value>(x, steps, n, largest, out);
    return n;
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <array>

#include "formats/block.hpp"
#include "kernels/codec/quark_kernel.hpp"
#include "kernels/table.hpp"

namespace anybit::kernels {
namespace {

HWY_EXPORT(RoundPrime);

using formats::BfpPrimeCodec;
using formats::Rounding;

constexpr std::size_t kMostValues = 1024;  // of a block; larger ones use the scalar codec
constexpr std::size_t kVector = 8;

class PrimeKernel final : public GroupKernel {
 public:
  PrimeKernel(std::shared_ptr<const formats::Codec> codec, const BfpPrimeCodec& known, Rounding rounding)
      : codec_(std::move(codec)),
        layout_(known.layout()),
        rounding_(rounding),
        plain_(plain_kernel(codec_, rounding)) {}

  void choose(const Groups& shape, const float* x, std::uint32_t* words) const override {
    for (std::size_t g = 0; g < shape.groups; ++g)
      choose_block({x + g * shape.size, shape.size}, {words + g * shape.stride, shape.stride});
  }
  void quantize(const Groups& shape, const float* x, const std::uint32_t* words, const std::uint32_t*,
                float* out) const override {
    std::array<std::uint32_t, kMostValues + kVector> steps{};  // zeros: loads beyond the block
    for (std::size_t g = 0; g < shape.groups; ++g) {
      const std::size_t at = g * shape.size;
      const std::uint32_t* own = words + g * shape.stride;
      if (shape.size <= kMostValues && find_steps(own, shape.size, steps.data())) {
        HWY_DYNAMIC_DISPATCH(RoundPrime)
        (rounding_, x + at, steps.data(), shape.size, static_cast<float>(layout_.largest_magnitude()),
         out + at);
      } else {
        plain_->quantize({shape.size, 1, shape.stride}, x + at, own, nullptr, out + at);
      }
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
  // The exponent codes of the sub-blocks become their shifts once that of the block is known.
  void choose_block(std::span<const float> x, formats::Words words) const {
    const auto size = static_cast<std::size_t>(layout_.sub_block_size);
    std::uint32_t all = 0;
    std::size_t parts = 0;
    for (std::size_t i = 0; i < x.size(); i += size, ++parts) {
      std::uint32_t largest = 0;
      for (std::size_t k = i; k < std::min(i + size, x.size()); ++k)
        largest = std::max(largest, formats::magnitude_bits(x[k]));
      words[1 + parts] = largest >> 23;
      all = std::max(all, largest >> 23);
    }
    const bool finite = all < 255;
    const auto most = static_cast<std::uint32_t>(layout_.largest_shift());
    words[0] = formats::word_of(finite ? static_cast<int>(all) - 126 : BfpPrimeCodec::kNanExponent);
    for (std::size_t k = 1; k <= parts; ++k) words[k] = finite ? std::min(all - words[k], most) : 0;
    std::fill(words.begin() + 1 + static_cast<std::ptrdiff_t>(parts), words.end(), 0u);
  }

  // False if a step or its reciprocal is no normal number.
  bool find_steps(const std::uint32_t* words, std::size_t n, std::uint32_t* steps) const {
    const int highest = formats::exponent_in(words[0]) - layout_.magnitude_bits();
    const auto size = static_cast<std::size_t>(layout_.sub_block_size);
    if (highest > 126 || words[0] == formats::word_of(BfpPrimeCodec::kNanExponent)) return false;
    for (std::size_t i = 0; i < n; i += size) {
      const int step = highest - static_cast<int>(words[1 + i / size]);
      if (step < -126) return false;
      std::fill(steps + i, steps + std::min(i + size, n), static_cast<std::uint32_t>(step + 127) << 23);
    }
    return true;
  }

  std::shared_ptr<const formats::Codec> codec_;
  formats::BfpPrimeLayout layout_;
  Rounding rounding_;
  std::unique_ptr<const GroupKernel> plain_;
};

std::unique_ptr<const GroupKernel> make_rounding(const std::shared_ptr<const formats::Codec>& codec,
                                                 Rounding rounding) {
  const auto* known = dynamic_cast<const BfpPrimeCodec*>(codec.get());
  if (known == nullptr || !is_to_nearest(rounding)) return nullptr;
  return std::make_unique<const PrimeKernel>(codec, *known, rounding);
}

std::unique_ptr<const GroupKernel> make(const std::shared_ptr<const formats::Codec>& codec) {
  return make_rounding(codec, Rounding::half_even);
}

}  // namespace

std::span<const Descriptor> bfp_prime_simd_descriptors() {
  static const Descriptor all[] = {{.name = "bfp_prime", .kernel = GroupCodec{make, make_rounding}}};
  return all;
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
