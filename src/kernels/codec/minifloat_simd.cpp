// SIMD twin of formats/minifloat.cpp and formats/minifloat_denorm.cpp.
#include "formats/minifloat.hpp"
#include "formats/minifloat_denorm.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/codec/minifloat_simd.cpp"
#include "hwy/foreach_target.h"
#include "kernels/codec/minifloat_element-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

void RoundMinifloat(const MinifloatConstants& c, const float* x, std::size_t n, float* out) {
  RoundRun(MinifloatElement(c), Multiply(), x, n, 1, 1, out);
}

void CodeMinifloat(const MinifloatConstants& c, const float* x, std::size_t n, CodesOut codes) {
  CodeRun(MinifloatElement(c), Multiply(), x, n, 1, codes);
}

// A format without implicit leading bit has the values of one with it and one mantissa bit less. `c` belongs
// to the latter; its codes are rewritten: the exponent is reduced by one, and the leading bit becomes
// explicit.
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
    const VU exponent = hn::Sub(hn::Sub(magnitude, mantissa), one);  // minus one, in units of `one`
    const VU spelled = hn::Add(hn::Add(exponent, exponent), hn::Or(one, mantissa));
    const auto subnormal = hn::RebindMask(du, hn::Lt(hn::BitCast(DI(), magnitude), hn::Set(DI(), one_)));
    return hn::Or(hn::IfThenElse(subnormal, magnitude, spelled), sign);
  }

 private:
  MinifloatElement values_;
  std::int32_t one_, sign_;
};

void CodeDenorm(const MinifloatConstants& c, const float* x, std::size_t n, CodesOut codes) {
  CodeRun(DenormElement(c), Multiply(), x, n, 1, codes);
}

// Exponent only: from 1.5 times a power of two, values round up to the next power. Values that are not
// positive become the smallest one, or NaN.
struct E8m0Element {
  bool saturate;
  // 2^-127 is subnormal and the highest code is NaN: both need an explicit mantissa bit.
  HWY_INLINE VF Value(VI code) const {
    const DI di;
    const auto special = hn::Or(hn::Eq(code, hn::Zero(di)), hn::Eq(code, hn::Set(di, 255)));
    const VI mantissa = hn::IfThenElseZero(special, hn::Set(di, 0x00400000));
    return hn::BitCast(DF(), hn::Or(hn::ShiftLeft<23>(code), mantissa));
  }
  HWY_INLINE VF Round(VF x) const { return Value(hn::BitCast(DI(), Code(x))); }
  HWY_INLINE VU Code(VF x) const {
    const DI di;
    const VI bits = hn::BitCast(di, x);
    // A subnormal above 1.5 · 2^-127 is nearer to 2^-126, whose code is 1.
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

void CodeE8m0(bool saturate, const float* x, std::size_t n, CodesOut codes) {
  CodeRun(E8m0Element{saturate}, Multiply(), x, n, 1, codes);
}

void RoundE8m0(bool saturate, const float* x, std::size_t n, float* out) {
  RoundRun(E8m0Element{saturate}, Multiply(), x, n, 1, 1, out);
}

void DecodeE8m0(CodesIn codes, std::size_t n, float* out) {
  DecodeRun([](VI code) HWY_ATTR { return E8m0Element{true}.Value(code); }, codes, n, out);
}

void DecodeMinifloat(const MinifloatConstants& c, CodesIn codes, std::size_t n, float* out) {
  WithMinifloatDecoder(c, [&](const auto& decoder) HWY_ATTR {
    DecodeRun(decoder, codes, n, out);
    return n;
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "formats/float_bits.hpp"
#include "kernels/codec/table_decode.hpp"
#include "kernels/table.hpp"

namespace anybit::kernels {
namespace {

HWY_EXPORT(RoundMinifloat);
HWY_EXPORT(CodeMinifloat);
HWY_EXPORT(DecodeMinifloat);
HWY_EXPORT(CodeDenorm);
HWY_EXPORT(CodeE8m0);
HWY_EXPORT(RoundE8m0);
HWY_EXPORT(DecodeE8m0);

class MinifloatKernel final : public GroupKernel {
 public:
  explicit MinifloatKernel(const MinifloatConstants& constants) : constants_(constants) {}

  void choose(const Groups&, const float*, std::uint32_t*) const override {}
  void quantize(const Groups& shape, const float* x, const std::uint32_t*, const std::uint32_t*,
                float* out) const override {
    HWY_DYNAMIC_DISPATCH(RoundMinifloat)(constants_, x, shape.count(), out);
  }
  void encode(const Groups& shape, const float* x, const std::uint32_t*, const std::uint32_t*,
              CodesOut codes) const override {
    HWY_DYNAMIC_DISPATCH(CodeMinifloat)(constants_, x, shape.count(), codes);
  }
  void decode(const Groups& shape, CodesIn codes, const std::uint32_t*, float* out) const override {
    HWY_DYNAMIC_DISPATCH(DecodeMinifloat)(constants_, codes, shape.count(), out);
  }

 private:
  MinifloatConstants constants_;
};

// Up to 8 bits; wider codes use the plain kernel.
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
              CodesOut codes) const override {
    HWY_DYNAMIC_DISPATCH(CodeDenorm)(constants_, x, shape.count(), codes);
  }
  void decode(const Groups& shape, CodesIn codes, const std::uint32_t*, float* out) const override {
    table_.run(codes, shape.count(), 1, out);
  }

 private:
  MinifloatConstants constants_;
  DecodeTable table_;
};

class E8m0Kernel final : public GroupKernel {
 public:
  explicit E8m0Kernel(const formats::E8m0Codec& codec) : saturate_(codec.saturate()) {}

  void choose(const Groups&, const float*, std::uint32_t*) const override {}
  void quantize(const Groups& shape, const float* x, const std::uint32_t*, const std::uint32_t*,
                float* out) const override {
    HWY_DYNAMIC_DISPATCH(RoundE8m0)(saturate_, x, shape.count(), out);
  }
  void encode(const Groups& shape, const float* x, const std::uint32_t*, const std::uint32_t*,
              CodesOut codes) const override {
    HWY_DYNAMIC_DISPATCH(CodeE8m0)(saturate_, x, shape.count(), codes);
  }
  void decode(const Groups& shape, CodesIn codes, const std::uint32_t*, float* out) const override {
    HWY_DYNAMIC_DISPATCH(DecodeE8m0)(codes, shape.count(), out);
  }

 private:
  bool saturate_;
};

std::unique_ptr<const GroupKernel> make_e8m0(const std::shared_ptr<const formats::Codec>& codec) {
  const auto* e8m0 = dynamic_cast<const formats::E8m0Codec*>(codec.get());
  return e8m0 == nullptr ? nullptr : std::make_unique<const E8m0Kernel>(*e8m0);
}

std::unique_ptr<const GroupKernel> make(const std::shared_ptr<const formats::Codec>& codec) {
  const auto* minifloat = dynamic_cast<const formats::MinifloatCodec*>(codec.get());
  if (minifloat == nullptr) return nullptr;
  const auto constants = constants_of(minifloat->layout(), minifloat->saturate());
  if (!constants) return nullptr;
  return std::make_unique<const MinifloatKernel>(*constants);
}

std::unique_ptr<const GroupKernel> make_denorm(const std::shared_ptr<const formats::Codec>& codec) {
  const auto* denorm = dynamic_cast<const formats::DenormCodec*>(codec.get());
  if (denorm == nullptr || denorm->bits() > 8) return nullptr;
  const formats::DenormLayout& layout = denorm->layout();
  auto constants = constants_of(
      {layout.exponent_bits + 1, layout.mantissa_bits - 1, layout.bias + 2, formats::Flavour::finite}, true);
  if (!constants) return nullptr;
  // The exponent has one bit more here than in the other format, and uses half of its range.
  constants->largest_bits = constants->overflow_bits =
      static_cast<std::int32_t>(formats::bits_of(static_cast<float>(layout.largest())));
  constants->largest_code = constants->overflow_code =
      (1 << (layout.exponent_bits + layout.mantissa_bits - 1)) + (1 << (layout.mantissa_bits - 1)) - 1;
  return std::make_unique<const DenormKernel>(*denorm, *constants);
}

}  // namespace

std::span<const Descriptor> minifloat_simd_descriptors() {
  static const Descriptor all[] = {{.name = "e8m0", .kernel = GroupCodec{make_e8m0}},
                                   {.name = "minifloat", .kernel = GroupCodec{make}},
                                   {.name = "minifloat_denorm", .kernel = GroupCodec{make_denorm}}};
  return all;
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
