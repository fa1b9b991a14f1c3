// SIMD twin of formats/minifloat.cpp and formats/minifloat_denorm.cpp.
#include "formats/minifloat.hpp"
#include "formats/minifloat_denorm.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/minifloat_simd.cpp"
#include "hwy/foreach_target.h"
#include "kernels/minifloat_element-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

void RoundMinifloat(const MinifloatConstants& c, const float* x, std::size_t n, float* out) {
  RoundRun(MinifloatElement(c), Multiply(), x, n, 1, 1, out);
}

void CodeMinifloat8(const MinifloatConstants& c, const float* x, std::size_t n, std::uint8_t* codes) {
  CodeRun(MinifloatElement(c), Multiply(), x, n, 1, codes);
}

void CodeMinifloat16(const MinifloatConstants& c, const float* x, std::size_t n, std::uint16_t* codes) {
  CodeRun(MinifloatElement(c), Multiply(), x, n, 1, codes);
}

// A format without a hidden one has the values of one with it and a mantissa bit less. `c` is of the latter;
// its codes are spelled out: the exponent goes down by one, and the one that was hidden is written.
class DenormElement {
 public:
  explicit DenormElement(const MinifloatConstants& c)
      : values_(c), one_(1 << (23 - c.shift)), sign_(c.sign_code) {}
  HWY_INLINE VU Code(VF x) const {
    const DU du;
    const VU one = hn::Set(du, static_cast<std::uint32_t>(one_)),
             sign_bit = hn::Set(du, static_cast<std::uint32_t>(sign_));
    const VU code = values_.Code(x), sign = hn::And(code, sign_bit), magnitude = hn::Xor(code, sign);
    const VU mantissa = hn::And(magnitude, hn::Sub(one, hn::Set(du, 1)));
    const VU exponent = hn::Sub(hn::Sub(magnitude, mantissa), one);  // less one, in units of `one`
    const VU spelled = hn::Add(hn::Add(exponent, exponent), hn::Or(one, mantissa));
    const auto subnormal = hn::RebindMask(du, hn::Lt(hn::BitCast(DI(), magnitude), hn::Set(DI(), one_)));
    return hn::Or(hn::IfThenElse(subnormal, magnitude, spelled), sign);
  }

 private:
  MinifloatElement values_;
  std::int32_t one_, sign_;
};

void CodeDenorm8(const MinifloatConstants& c, const float* x, std::size_t n, std::uint8_t* codes) {
  CodeRun(DenormElement(c), Multiply(), x, n, 1, codes);
}

void CodeDenorm16(const MinifloatConstants& c, const float* x, std::size_t n, std::uint16_t* codes) {
  CodeRun(DenormElement(c), Multiply(), x, n, 1, codes);
}

// Exponents alone: numbers at or above one and a half times a power of two go to the next one. What is not
// positive is the smallest, or NaN.
struct E8m0Element {
  bool saturate;
  HWY_INLINE VU Code(VF x) const {
    const DI di;
    const VI bits = hn::BitCast(di, x);
    // A subnormal above 2^-127 · 1.5 is nearer to 2^-126, whose code is 1.
    const VI normal = hn::ShiftRight<23>(hn::Add(bits, hn::Set(di, 0x00400000)));
    const VI subnormal = hn::IfThenElseZero(hn::Gt(bits, hn::Set(di, 0x005FFFFF)), hn::Set(di, 1));
    VI code = hn::IfThenElse(hn::Lt(bits, hn::Set(di, 0x00800000)), subnormal, normal);
    code = hn::IfThenElse(hn::Gt(code, hn::Set(di, 254)), hn::Set(di, saturate ? 254 : 255), code);
    code = hn::IfThenElse(hn::Gt(bits, hn::Zero(di)), code, hn::Set(di, saturate ? 0 : 255));
    const VI magnitude = hn::And(bits, hn::Set(di, 0x7FFFFFFF));
    return hn::BitCast(DU(),
                       hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x7F800000)), hn::Set(di, 255), code));
  }
};

void CodeE8m0(bool saturate, const float* x, std::size_t n, std::uint8_t* codes) {
  CodeRun(E8m0Element{saturate}, Multiply(), x, n, 1, codes);
}

// Codes of 9 to 16 bits. The exponent is moved to float32's place; one multiplication mends its bias, and
// normalises subnormals by the way. What lies beyond the largest finite code is Inf or NaN.
void DecodeMinifloat16(const MinifloatConstants& c, const std::uint16_t* codes, std::size_t n, float* out) {
  const DF d;
  const DI di;
  const hn::Rebind<std::uint16_t, DI> d16;
  // 2^(127 - bias), in two factors that are both normal numbers.
  const std::int32_t exponent = c.code_offset >> (23 - c.shift);
  const auto power = [&](std::int32_t e) { return hn::BitCast(d, hn::Set(di, (e + 127) << 23)); };
  const VF first = power(exponent / 2), second = power(exponent - exponent / 2);
  const auto decode = [&](VI code) HWY_ATTR {
    const VI unsigned_code = hn::And(code, hn::Set(di, c.sign_code - 1));
    const VI sign = hn::ShiftLeftSame(hn::And(code, hn::Set(di, c.sign_code)), c.sign_shift);
    VF value = hn::Mul(hn::Mul(hn::BitCast(d, hn::ShiftLeftSame(unsigned_code, c.shift)), first), second);
    const VI infinity = hn::Set(di, 0x7F800000);
    const VI beyond = hn::IfThenElse(hn::Eq(unsigned_code, hn::Set(di, c.largest_code + 1)), infinity,
                                     hn::Set(di, 0x7FC00000));
    const auto special = hn::Gt(unsigned_code, hn::Set(di, c.largest_code));
    return hn::BitCast(d, hn::Or(hn::IfThenElse(special, beyond, hn::BitCast(di, value)), sign));
  };
  Strides(
      n,
      [&](std::size_t i)
          HWY_ATTR { hn::StoreU(decode(hn::PromoteTo(di, hn::LoadU(d16, codes + i))), d, out + i); },
      [&](std::size_t i, std::size_t rest) HWY_ATTR {
        HWY_ALIGN std::uint16_t in[hn::MaxLanes(d)] = {};
        HWY_ALIGN float made[hn::MaxLanes(d)];
        std::memcpy(in, codes + i, rest * sizeof(std::uint16_t));
        hn::Store(decode(hn::PromoteTo(di, hn::Load(d16, in))), d, made);
        std::memcpy(out + i, made, rest * sizeof(float));
      });
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <vector>

#include "formats/float_bits.hpp"
#include "kernels/table.hpp"
#include "kernels/table_decode.hpp"

namespace anybit::kernels {
namespace {

HWY_EXPORT(RoundMinifloat);
HWY_EXPORT(CodeMinifloat8);
HWY_EXPORT(CodeMinifloat16);
HWY_EXPORT(DecodeMinifloat16);
HWY_EXPORT(CodeDenorm8);
HWY_EXPORT(CodeDenorm16);
HWY_EXPORT(CodeE8m0);

class MinifloatKernel final : public GroupKernel {
 public:
  MinifloatKernel(const formats::MinifloatCodec& codec, const MinifloatConstants& constants)
      : constants_(constants), narrow_(codec.bits() <= 8) {
    if (narrow_) table_.emplace(codec, formats::ConstWords());
  }

  void choose(const Groups&, const float*, std::uint32_t*) const override {}
  void quantize(const Groups& shape, const float* x, const std::uint32_t*, const std::uint32_t*,
                float* out) const override {
    HWY_DYNAMIC_DISPATCH(RoundMinifloat)(constants_, x, shape.count(), out);
  }
  void encode(const Groups& shape, const float* x, const std::uint32_t*, const std::uint32_t*,
              std::uint8_t* codes) const override {
    HWY_DYNAMIC_DISPATCH(CodeMinifloat8)(constants_, x, shape.count(), codes);
  }
  void encode(const Groups& shape, const float* x, const std::uint32_t*, const std::uint32_t*,
              std::uint16_t* codes) const override {
    HWY_DYNAMIC_DISPATCH(CodeMinifloat16)(constants_, x, shape.count(), codes);
  }
  void decode(const Groups& shape, const std::uint8_t* codes, const std::uint32_t*,
              float* out) const override {
    table_->run(codes, shape.count(), 1, out);
  }
  void decode(const Groups& shape, const std::uint16_t* codes, const std::uint32_t*,
              float* out) const override {
    if (narrow_) {
      table_->run(codes, shape.count(), 1, out);
    } else {
      HWY_DYNAMIC_DISPATCH(DecodeMinifloat16)(constants_, codes, shape.count(), out);
    }
  }

 private:
  MinifloatConstants constants_;
  bool narrow_;
  std::optional<DecodeTable> table_;
};

// Up to 8 bits; wider codes take the plain way.
class DenormKernel final : public GroupKernel {
 public:
  DenormKernel(const formats::DenormCodec& codec, const MinifloatConstants& constants)
      : constants_(constants), table_(codec, {}) {}

  void choose(const Groups&, const float*, std::uint32_t*) const override {}
  void quantize(const Groups& shape, const float* x, const std::uint32_t*, const std::uint32_t*,
                float* out) const override {
    HWY_DYNAMIC_DISPATCH(RoundMinifloat)(constants_, x, shape.count(), out);
  }
  void encode(const Groups& shape, const float* x, const std::uint32_t*, const std::uint32_t*,
              std::uint8_t* codes) const override {
    HWY_DYNAMIC_DISPATCH(CodeDenorm8)(constants_, x, shape.count(), codes);
  }
  void encode(const Groups& shape, const float* x, const std::uint32_t*, const std::uint32_t*,
              std::uint16_t* codes) const override {
    HWY_DYNAMIC_DISPATCH(CodeDenorm16)(constants_, x, shape.count(), codes);
  }
  void decode(const Groups& shape, const std::uint8_t* codes, const std::uint32_t*,
              float* out) const override {
    table_.run(codes, shape.count(), 1, out);
  }
  void decode(const Groups& shape, const std::uint16_t* codes, const std::uint32_t*,
              float* out) const override {
    table_.run(codes, shape.count(), 1, out);
  }

 private:
  MinifloatConstants constants_;
  DecodeTable table_;
};

class E8m0Kernel final : public GroupKernel {
 public:
  explicit E8m0Kernel(const formats::E8m0Codec& codec) : saturate_(codec.saturate()), table_(codec, {}) {}

  void choose(const Groups&, const float*, std::uint32_t*) const override {}
  void quantize(const Groups& shape, const float* x, const std::uint32_t*, const std::uint32_t*,
                float* out) const override {
    constexpr std::size_t kPiece = 1024;
    std::uint8_t codes[kPiece];
    for (std::size_t at = 0; at < shape.count(); at += kPiece) {
      const std::size_t n = std::min(kPiece, shape.count() - at);
      HWY_DYNAMIC_DISPATCH(CodeE8m0)(saturate_, x + at, n, codes);
      table_.run(codes, n, 1, out + at);
    }
  }
  void encode(const Groups& shape, const float* x, const std::uint32_t*, const std::uint32_t*,
              std::uint8_t* codes) const override {
    HWY_DYNAMIC_DISPATCH(CodeE8m0)(saturate_, x, shape.count(), codes);
  }
  void encode(const Groups& shape, const float* x, const std::uint32_t* words, const std::uint32_t* noise,
              std::uint16_t* codes) const override {
    std::vector<std::uint8_t> narrow(shape.count());
    encode(shape, x, words, noise, narrow.data());
    std::copy(narrow.begin(), narrow.end(), codes);
  }
  void decode(const Groups& shape, const std::uint8_t* codes, const std::uint32_t*,
              float* out) const override {
    table_.run(codes, shape.count(), 1, out);
  }
  void decode(const Groups& shape, const std::uint16_t* codes, const std::uint32_t*,
              float* out) const override {
    table_.run(codes, shape.count(), 1, out);
  }

 private:
  bool saturate_;
  DecodeTable table_;
};

std::unique_ptr<const GroupKernel> make_e8m0(const std::shared_ptr<const formats::Codec>& codec) {
  const auto* e8m0 = dynamic_cast<const formats::E8m0Codec*>(codec.get());
  return e8m0 == nullptr ? nullptr : std::make_unique<const E8m0Kernel>(*e8m0);
}

std::unique_ptr<const GroupKernel> make(const std::shared_ptr<const formats::Codec>& codec) {
  const auto* minifloat = dynamic_cast<const formats::MinifloatCodec*>(codec.get());
  if (minifloat == nullptr) return nullptr;
  // Wide codes are decoded by arithmetic, which knows IEEE's specials and none.
  const formats::Flavour flavour = minifloat->layout().flavour;
  const bool plain_codes = flavour == formats::Flavour::inf || flavour == formats::Flavour::finite;
  if (minifloat->bits() > 8 && !plain_codes) return nullptr;
  const auto constants = constants_of(minifloat->layout(), minifloat->saturate());
  if (!constants) return nullptr;
  return std::make_unique<const MinifloatKernel>(*minifloat, *constants);
}

std::unique_ptr<const GroupKernel> make_denorm(const std::shared_ptr<const formats::Codec>& codec) {
  const auto* denorm = dynamic_cast<const formats::DenormCodec*>(codec.get());
  if (denorm == nullptr || denorm->bits() > 8) return nullptr;
  const formats::DenormLayout& layout = denorm->layout();
  auto constants = constants_of(
      {layout.exponent_bits + 1, layout.mantissa_bits - 1, layout.bias + 2, formats::Flavour::finite}, true);
  if (!constants) return nullptr;
  // The exponent has one bit more here than there, and only half of its range.
  constants->largest_bits = constants->overflow_bits =
      static_cast<std::int32_t>(formats::bits_of(static_cast<float>(layout.largest())));
  constants->largest_code = constants->overflow_code =
      (1 << (layout.exponent_bits + layout.mantissa_bits - 1)) + (1 << (layout.mantissa_bits - 1)) - 1;
  return std::make_unique<const DenormKernel>(*denorm, *constants);
}

}  // namespace

std::span<const Descriptor> minifloat_simd_descriptors() {
  static const Descriptor all[] = {{.name = "e8m0", .make = make_e8m0},
                                   {.name = "minifloat", .make = make},
                                   {.name = "minifloat_denorm", .make = make_denorm}};
  return all;
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
