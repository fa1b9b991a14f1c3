// SIMD twin of formats/shared_micro.cpp and formats/nvfp4.cpp: blocks whose step is not one power of two.
#include "formats/nvfp4.hpp"
#include "formats/shared_micro.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/micro_simd.cpp"
#include "hwy/foreach_target.h"
#include "kernels/minifloat_element-inl.h"
#include "kernels/shared_exponent-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

std::uint32_t LargestInBlock(const float* x, std::size_t n) { return LargestBits(x, n); }

void RoundNvfp4(const MinifloatConstants& c, float step, const float* x, std::size_t n, float* out) {
  RoundRun(MinifloatElement(c), Divide(), x, n, step, step, out);
}

void CodeNvfp4(const MinifloatConstants& c, float step, const float* x, std::size_t n, std::uint8_t* codes) {
  CodeRun(MinifloatElement(c), Divide(), x, n, step, codes);
}

// Like RoundRun and CodeRun, with a factor for every value (1, or 2 for a pair with the finer step).
void RoundMicro(const WholeConstants& c, const float* finer, float pre, float post, const float* x,
                std::size_t n, float* out) {
  const DF d;
  const WholeElement element(c);
  const VF first = hn::Set(d, pre), last = hn::Set(d, post), half = hn::Set(d, 0.5f), one = hn::Set(d, 1.0f);
  const auto round = [&](VF v, VF f) HWY_ATTR {
    const VF coarse = hn::IfThenElse(hn::Gt(f, one), half, one);
    return hn::Mul(hn::Mul(element.Round(hn::Mul(hn::Mul(v, first), f)), coarse), last);
  };
  Strides(
      n,
      [&](std::size_t i)
          HWY_ATTR { hn::StoreU(round(hn::LoadU(d, x + i), hn::LoadU(d, finer + i)), d, out + i); },
      [&](std::size_t i, std::size_t rest) HWY_ATTR {
        HWY_ALIGN float in[hn::MaxLanes(d)] = {}, f[hn::MaxLanes(d)] = {};
        std::memcpy(in, x + i, rest * sizeof(float));
        std::memcpy(f, finer + i, rest * sizeof(float));
        hn::Store(round(hn::Load(d, in), hn::Load(d, f)), d, in);
        std::memcpy(out + i, in, rest * sizeof(float));
      });
}

void CodeMicro(const WholeConstants& c, const float* finer, float pre, const float* x, std::size_t n,
               std::uint8_t* codes) {
  const DF d;
  const WholeElement element(c);
  const VF first = hn::Set(d, pre);
  const auto code = [&](VF v, VF f) HWY_ATTR { return element.Code(hn::Mul(hn::Mul(v, first), f)); };
  Strides(
      n,
      [&](std::size_t i)
          HWY_ATTR { StoreCodes(code(hn::LoadU(d, x + i), hn::LoadU(d, finer + i)), codes + i); },
      [&](std::size_t i, std::size_t rest) HWY_ATTR {
        HWY_ALIGN float in[hn::MaxLanes(d)] = {}, f[hn::MaxLanes(d)] = {};
        std::uint8_t made[hn::MaxLanes(d)];
        std::memcpy(in, x + i, rest * sizeof(float));
        std::memcpy(f, finer + i, rest * sizeof(float));
        StoreCodes(code(hn::Load(d, in), hn::Load(d, f)), made);
        std::memcpy(codes + i, made, rest);
      });
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <array>
#include <cmath>

#include "formats/block.hpp"
#include "kernels/table.hpp"
#include "kernels/table_decode.hpp"

namespace anybit::kernels {
namespace {

HWY_EXPORT(LargestInBlock);
HWY_EXPORT(RoundNvfp4);
HWY_EXPORT(CodeNvfp4);
HWY_EXPORT(RoundMicro);
HWY_EXPORT(CodeMicro);

// Both families work block by block; a block that the fast way cannot do goes the plain way.
class BlockwiseKernel : public GroupKernel {
 public:
  explicit BlockwiseKernel(std::shared_ptr<const formats::Codec> codec)
      : codec_(std::move(codec)), plain_(plain_kernel(codec_, formats::Rounding::half_even)) {}

  void quantize(const Groups& shape, const float* x, const std::uint32_t* words, const std::uint32_t*,
                float* out) const final {
    each(shape, words, [&](formats::ConstWords mine, std::size_t at) {
      if (!round_block(mine, x + at, shape.size, out + at)) {
        plain_->quantize(one(shape), x + at, mine.data(), nullptr, out + at);
      }
    });
  }
  void encode(const Groups& shape, const float* x, const std::uint32_t* words, const std::uint32_t*,
              std::uint8_t* codes) const final {
    each(shape, words, [&](formats::ConstWords mine, std::size_t at) {
      if (!code_block(mine, x + at, shape.size, codes + at)) {
        plain_->encode(one(shape), x + at, mine.data(), nullptr, codes + at);
      }
    });
  }
  void encode(const Groups& shape, const float* x, const std::uint32_t* words, const std::uint32_t* noise,
              std::uint16_t* codes) const final {
    std::vector<std::uint8_t> narrow(shape.count());
    encode(shape, x, words, noise, narrow.data());
    std::copy(narrow.begin(), narrow.end(), codes);
  }
  void decode(const Groups& shape, const std::uint8_t* codes, const std::uint32_t* words,
              float* out) const final {
    each(shape, words, [&](formats::ConstWords mine, std::size_t at) {
      if (!decode_block(mine, codes + at, shape.size, out + at)) {
        plain_->decode(one(shape), codes + at, mine.data(), out + at);
      }
    });
  }
  void decode(const Groups& shape, const std::uint16_t* codes, const std::uint32_t* words,
              float* out) const final {
    std::vector<std::uint8_t> narrow(shape.count());
    std::transform(codes, codes + shape.count(), narrow.begin(),
                   [](auto c) { return static_cast<std::uint8_t>(c); });
    decode(shape, narrow.data(), words, out);
  }

 protected:
  virtual bool round_block(formats::ConstWords words, const float* x, std::size_t n, float* out) const = 0;
  virtual bool code_block(formats::ConstWords words, const float* x, std::size_t n,
                          std::uint8_t* codes) const = 0;
  virtual bool decode_block(formats::ConstWords words, const std::uint8_t* codes, std::size_t n,
                            float* out) const = 0;
  const formats::Codec& codec() const { return *codec_; }

 private:
  static Groups one(const Groups& shape) { return {shape.size, 1, shape.stride}; }
  template <class Body>
  static void each(const Groups& shape, const std::uint32_t* words, const Body& body) {
    for (std::size_t g = 0; g < shape.groups; ++g)
      body({words + g * shape.stride, shape.stride}, g * shape.size);
  }
  std::shared_ptr<const formats::Codec> codec_;
  std::unique_ptr<const GroupKernel> plain_;
};

class Nvfp4Kernel final : public BlockwiseKernel {
 public:
  explicit Nvfp4Kernel(const std::shared_ptr<const formats::Codec>& codec)
      : BlockwiseKernel(codec),
        constants_(*constants_of(formats::Nvfp4Codec::kElement, true)),
        table_(formats::MinifloatCodec(formats::Nvfp4Codec::kElement, true), {}) {}

  void choose(const Groups& shape, const float* x, std::uint32_t* words) const override {
    for (std::size_t g = 0; g < shape.groups; ++g) {
      const float* block = x + g * shape.size;
      const formats::Words mine{words + g * shape.stride, shape.stride};
      const std::uint32_t largest = HWY_DYNAMIC_DISPATCH(LargestInBlock)(block, shape.size);
      if (largest < formats::kInfinityBits) {
        mine[1] =
            formats::Nvfp4Codec::block_scale_for(formats::float_of(largest), formats::float_of(mine[0]));
      } else {
        codec().choose({block, shape.size}, mine);
      }
    }
  }

 protected:
  bool round_block(formats::ConstWords words, const float* x, std::size_t n, float* out) const override {
    const float step = formats::Nvfp4Codec::step(words);
    if (!usable(step)) return false;
    HWY_DYNAMIC_DISPATCH(RoundNvfp4)(constants_, step, x, n, out);
    return true;
  }
  bool code_block(formats::ConstWords words, const float* x, std::size_t n,
                  std::uint8_t* codes) const override {
    const float step = formats::Nvfp4Codec::step(words);
    if (!usable(step)) return false;
    HWY_DYNAMIC_DISPATCH(CodeNvfp4)(constants_, step, x, n, codes);
    return true;
  }
  bool decode_block(formats::ConstWords words, const std::uint8_t* codes, std::size_t n,
                    float* out) const override {
    const float step = formats::Nvfp4Codec::step(words);
    if (!usable(step)) return false;
    table_.run(codes, n, step, out);
    return true;
  }

 private:
  // Neither zero nor so large that the largest element leaves float32.
  static bool usable(float step) { return step > 0 && step < 0x1p125f; }
  MinifloatConstants constants_;
  DecodeTable table_;
};

class MicroKernel final : public BlockwiseKernel {
 public:
  MicroKernel(const std::shared_ptr<const formats::Codec>& codec, const formats::SharedMicroCodec& micro)
      : BlockwiseKernel(codec), micro_(micro), bits_(micro.magnitude_bits()) {
    const auto largest = static_cast<float>((1 << bits_) - 1);
    constants_ = {.units = formats::power_of_two(bits_),
                  .lowest = -largest,
                  .highest = largest,
                  .mask = 0,
                  .sign_code = 1u << bits_};
    for (std::size_t code = 0; code < table_.size(); ++code) {
      const auto magnitude = static_cast<float>(code & ((1u << bits_) - 1));
      table_[code] = (code >> bits_ & 1) != 0 ? -magnitude : magnitude;
    }
  }

  void choose(const Groups& shape, const float* x, std::uint32_t* words) const override {
    for (std::size_t g = 0; g < shape.groups; ++g) {
      choose_block({x + g * shape.size, shape.size}, {words + g * shape.stride, shape.stride});
    }
  }

 protected:
  bool round_block(formats::ConstWords words, const float* x, std::size_t n, float* out) const override {
    Factors finer;
    if (!factors(words, n, finer)) return false;
    const int e = static_cast<int>(words[0]);
    HWY_DYNAMIC_DISPATCH(RoundMicro)
    (constants_, finer.data(), formats::power_of_two(-e), formats::power_of_two(e - bits_), x, n, out);
    return true;
  }
  bool code_block(formats::ConstWords words, const float* x, std::size_t n,
                  std::uint8_t* codes) const override {
    Factors finer;
    if (!factors(words, n, finer)) return false;
    const float pre = formats::power_of_two(-static_cast<int>(words[0]));
    HWY_DYNAMIC_DISPATCH(CodeMicro)(constants_, finer.data(), pre, x, n, codes);
    return true;
  }
  bool decode_block(formats::ConstWords words, const std::uint8_t* codes, std::size_t n,
                    float* out) const override {
    const int e = static_cast<int>(words[0]);
    if (!reaches(e)) return false;
    const float steps[] = {formats::power_of_two(e - bits_), formats::power_of_two(e - bits_ - 1)};
    for (std::size_t i = 0; i < n; ++i) {
      out[i] = table_[codes[i]] * steps[words[1 + i / 64] >> (i / 2 % 32) & 1];
    }
    return true;
  }

 private:
  static constexpr std::size_t kLongest = 64;
  using Factors = std::array<float, kLongest>;

  static bool reaches(int e) { return e >= -125 && e <= 127; }

  static bool factors(formats::ConstWords words, std::size_t n, Factors& finer) {
    if (n > kLongest || !reaches(static_cast<int>(words[0]))) return false;
    for (std::size_t i = 0; i < n; ++i) finer[i] = (words[1 + i / 64] >> (i / 2 % 32) & 1) != 0 ? 2.0f : 1.0f;
    return true;
  }

  void choose_block(std::span<const float> x, formats::Words words) const {
    const std::uint32_t largest = HWY_DYNAMIC_DISPATCH(LargestInBlock)(x.data(), x.size());
    const int e = micro_.exponent_for(formats::float_of(largest));
    if (largest >= formats::kInfinityBits || !reaches(e)) {
      micro_.choose(x, words);
      return;
    }
    words[0] = formats::word_of(e);
    std::fill(words.begin() + 1, words.end(), 0u);
    // A pair shifts where its larger magnitude, in the finer step, rounds to a number that has a code: below
    // half a step under 2^bits. (The tie there goes up, to the even number.)
    const float limit = static_cast<float>((1 << (bits_ + 1)) - 1) * formats::power_of_two(e - bits_ - 2);
    for (std::size_t i = 0; i < x.size(); i += 2) {
      const float other = i + 1 < x.size() ? std::fabs(x[i + 1]) : 0.0f;
      const bool shifts = std::max(std::fabs(x[i]), other) < limit;
      words[1 + i / 64] |= static_cast<std::uint32_t>(shifts) << (i / 2 % 32);
    }
  }

  const formats::SharedMicroCodec& micro_;
  int bits_;
  WholeConstants constants_;
  std::array<float, 256> table_{};
};

std::unique_ptr<const GroupKernel> make_nvfp4(const std::shared_ptr<const formats::Codec>& codec) {
  if (dynamic_cast<const formats::Nvfp4Codec*>(codec.get()) == nullptr) return nullptr;
  return std::make_unique<const Nvfp4Kernel>(codec);
}

std::unique_ptr<const GroupKernel> make_micro(const std::shared_ptr<const formats::Codec>& codec) {
  const auto* micro = dynamic_cast<const formats::SharedMicroCodec*>(codec.get());
  return micro == nullptr ? nullptr : std::make_unique<const MicroKernel>(codec, *micro);
}

}  // namespace

std::span<const Descriptor> micro_simd_descriptors() {
  static const Descriptor all[] = {{.name = "nvfp4", .make = make_nvfp4},
                                   {.name = "shared_micro", .make = make_micro}};
  return all;
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
