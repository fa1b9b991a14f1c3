// Rounds vectors of float32 to a minifloat; twin of MinifloatLayout::encode with half_even. Normal numbers
// are rounded on their bits; subnormals by adding a number whose last place is their step.
#if defined(ANYBIT_KERNELS_MINIFLOAT_ELEMENT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ANYBIT_KERNELS_MINIFLOAT_ELEMENT_INL_H_
#undef ANYBIT_KERNELS_MINIFLOAT_ELEMENT_INL_H_
#else
#define ANYBIT_KERNELS_MINIFLOAT_ELEMENT_INL_H_
#endif

#include "kernels/codec/group_loops-inl.h"
#include "kernels/codec/minifloat_element.hpp"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

// The constants are broadcast to vectors once, not once per block.
class MinifloatElement {
 public:
  explicit MinifloatElement(const MinifloatConstants& c)
      : shift_(c.shift),
        sign_shift_(c.sign_shift),
        signed_zero_(c.signed_zero),
        signed_nan_(c.signed_nan),
        round_up_(hn::Set(DI(), c.round_up)),
        rounded_away_(hn::Set(DI(), (1 << c.shift) - 1)),
        lowest_normal_(hn::Set(DI(), c.lowest_normal)),
        magic_(hn::Set(DF(), c.subnormal_magic)),
        largest_bits_(hn::Set(DI(), c.largest_bits)),
        overflow_bits_(hn::Set(DI(), c.overflow_bits)),
        nan_bits_(hn::Set(DI(), c.nan_bits)),
        code_offset_(hn::Set(DI(), c.code_offset)),
        largest_code_(hn::Set(DI(), c.largest_code)),
        overflow_code_(hn::Set(DI(), c.overflow_code)),
        nan_code_(hn::Set(DI(), c.nan_code)) {}

  HWY_INLINE VF Round(VF x) const {
    const DF d;
    const DI di;
    const VI bits = hn::BitCast(di, x), sign = hn::And(bits, Sign()), magnitude = hn::Xor(bits, sign);
    const VI normal = hn::AndNot(rounded_away_, Nearest(magnitude));
    const VI subnormal = hn::BitCast(di, hn::Sub(hn::Add(hn::BitCast(d, magnitude), magic_), magic_));
    VI result = hn::IfThenElse(hn::Lt(magnitude, lowest_normal_), subnormal, normal);
    result = hn::IfThenElse(hn::Gt(result, largest_bits_), overflow_bits_, result);
    result = hn::IfThenElse(hn::Gt(magnitude, Infinity()), nan_bits_, result);
    return hn::BitCast(d, hn::Or(result, Signs(sign, magnitude, result, nan_bits_)));
  }

  HWY_INLINE VU Code(VF x) const {
    const DF d;
    const DI di;
    const DU du;
    const VI bits = hn::BitCast(di, x), sign = hn::And(bits, Sign()), magnitude = hn::Xor(bits, sign);
    const VI normal = hn::Sub(hn::ShiftRightSame(Nearest(magnitude), shift_), code_offset_);
    const VI subnormal =
        hn::Sub(hn::BitCast(di, hn::Add(hn::BitCast(d, magnitude), magic_)), hn::BitCast(di, magic_));
    VI result = hn::IfThenElse(hn::Lt(magnitude, lowest_normal_), subnormal, normal);
    result = hn::IfThenElse(hn::Gt(result, largest_code_), overflow_code_, result);
    result = hn::IfThenElse(hn::Gt(magnitude, Infinity()), nan_code_, result);
    const VI signs = Signs(sign, magnitude, result, nan_code_);
    return hn::Or(hn::BitCast(du, result), hn::ShiftRightSame(hn::BitCast(du, signs), sign_shift_));
  }

 private:
  HWY_INLINE VI Sign() const { return hn::Set(DI(), static_cast<std::int32_t>(0x80000000u)); }
  HWY_INLINE VI Infinity() const { return hn::Set(DI(), 0x7F800000); }

  // The bits rounded half to even at `shift`; the bits below are garbage. A carry into the exponent is
  // correct.
  HWY_INLINE VI Nearest(VI magnitude) const {
    const VI odd = hn::And(hn::ShiftRightSame(magnitude, shift_), hn::Set(DI(), 1));
    return hn::Add(magnitude, hn::Add(odd, round_up_));
  }

  // The sign bits to set: none where the format has no such zero or NaN.
  HWY_INLINE VI Signs(VI sign, VI magnitude, VI result, VI nan) const {
    if (!signed_nan_) sign = hn::IfThenZeroElse(hn::Gt(magnitude, Infinity()), sign);
    if (signed_zero_) return sign;
    sign = hn::IfThenZeroElse(hn::Eq(result, hn::Zero(DI())), sign);
    return hn::IfThenZeroElse(hn::Eq(result, nan), sign);
  }

  int shift_, sign_shift_;
  bool signed_zero_, signed_nan_;
  VI round_up_, rounded_away_, lowest_normal_;
  VF magic_;
  VI largest_bits_, overflow_bits_, nan_bits_, code_offset_, largest_code_, overflow_code_, nan_code_;
};

// Decodes minifloats. The bits of a normal number are shifted to float32's position and the exponent is
// rebiased; a subnormal is an integer times the step. No intermediate is subnormal, because some CPUs are
// slow on those.
class MinifloatDecoder {
 public:
  explicit MinifloatDecoder(const MinifloatConstants& c)
      : shift_(c.shift),
        sign_shift_(c.sign_shift),
        has_specials_(c.flavour != formats::Flavour::finite),
        same_exponents_(c.code_offset == 0),
        magnitude_(hn::Set(DI(), c.sign_code - 1)),
        exponent_(hn::Set(DI(), c.code_offset * (1 << c.shift))),
        smallest_normal_(hn::Set(DI(), 1 << (23 - c.shift))),
        step_(hn::Set(DF(), c.step)),
        largest_code_(hn::Set(DI(), c.largest_code)),
        infinity_code_(hn::Set(DI(), c.flavour == formats::Flavour::inf ? c.largest_code + 1 : -1)),
        nan_code_(hn::Set(DI(), c.flavour == formats::Flavour::fnuz ? c.nan_code : -1)) {}

  HWY_INLINE VF operator()(VI code) const {
    const DF d;
    const DI di;
    const VI magnitude = hn::And(code, magnitude_);
    const VI sign = hn::ShiftLeftSame(hn::AndNot(magnitude_, code), sign_shift_);
    VI bits = hn::Add(hn::ShiftLeftSame(magnitude, shift_), exponent_);
    if (!same_exponents_) {
      const VF subnormal = hn::Mul(hn::ConvertTo(d, magnitude), step_);
      bits = hn::IfThenElse(hn::Lt(magnitude, smallest_normal_), hn::BitCast(di, subnormal), bits);
    }
    if (has_specials_) {
      const VI infinity = hn::Set(di, 0x7F800000), nan = hn::Set(di, 0x7FC00000);
      bits = hn::IfThenElse(hn::Gt(magnitude, largest_code_), nan, bits);
      bits = hn::IfThenElse(hn::Eq(magnitude, infinity_code_), infinity, bits);
      bits = hn::IfThenElse(hn::Eq(code, nan_code_), nan, bits);
    }
    return hn::BitCast(d, hn::Or(bits, sign));
  }

 private:
  int shift_, sign_shift_;
  bool has_specials_, same_exponents_;
  VI magnitude_, exponent_, smallest_normal_;
  VF step_;
  VI largest_code_, infinity_code_, nan_code_;
};

// The same for 4-bit codes, whose eight magnitudes fit one vector.
class MinifloatTable {
 public:
  explicit MinifloatTable(const MinifloatConstants& c)
      : magnitudes_(MinifloatDecoder(c)(hn::Iota(DI(), 0))) {}
  HWY_INLINE VF operator()(VI code) const {
    const DF d;
    const DI di;
    const VI index = hn::And(code, hn::Set(di, 7));
    const VF sign = hn::BitCast(d, hn::ShiftLeft<28>(code));
    return hn::CopySignToAbs(hn::TableLookupLanes(magnitudes_, hn::IndicesFromVec(d, index)), sign);
  }

 private:
  VF magnitudes_;
};

// Calls body(decoder) with the fastest decoder for the format.
template <class Body>
HWY_INLINE std::size_t WithMinifloatDecoder(const MinifloatConstants& c, const Body& body) {
  const bool table = hn::Lanes(DF()) == 8 && c.sign_code == 8 && c.signed_zero;
  return table ? body(MinifloatTable(c)) : body(MinifloatDecoder(c));
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
