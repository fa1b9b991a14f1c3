// SIMD twin of formats/minifloat.cpp.
#include "formats/minifloat.hpp"

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

#include "kernels/table.hpp"
#include "kernels/table_decode.hpp"

namespace anybit::kernels {
namespace {

HWY_EXPORT(RoundMinifloat);
HWY_EXPORT(CodeMinifloat8);
HWY_EXPORT(CodeMinifloat16);
HWY_EXPORT(DecodeMinifloat16);

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

}  // namespace

std::span<const Descriptor> minifloat_simd_descriptors() {
  static const Descriptor all[] = {{.name = "minifloat", .make = make}};
  return all;
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
