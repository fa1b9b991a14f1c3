// Rounding to a small float on vectors of float32; twin of MinifloatLayout::encode with half_even. Normal
// numbers are rounded in their bits; subnormals by adding a number whose last place is their step.
#if defined(ANYBIT_KERNELS_MINIFLOAT_ELEMENT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ANYBIT_KERNELS_MINIFLOAT_ELEMENT_INL_H_
#undef ANYBIT_KERNELS_MINIFLOAT_ELEMENT_INL_H_
#else
#define ANYBIT_KERNELS_MINIFLOAT_ELEMENT_INL_H_
#endif

#include "kernels/group_loops-inl.h"
#include "kernels/minifloat_element.hpp"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

class MinifloatElement {
 public:
  explicit MinifloatElement(const MinifloatConstants& c) : c_(c) {}

  HWY_INLINE VF Round(VF x) const {
    const DF d;
    const DI di;
    const VI bits = hn::BitCast(di, x), sign = hn::And(bits, hn::Set(di, kSign)),
             magnitude = hn::Xor(bits, sign);
    const VI normal = hn::AndNot(hn::Set(di, (1 << c_.shift) - 1), Nearest(magnitude));
    const VF magic = hn::Set(d, c_.subnormal_magic);
    const VI subnormal = hn::BitCast(di, hn::Sub(hn::Add(hn::BitCast(d, magnitude), magic), magic));
    VI result = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, c_.lowest_normal)), subnormal, normal);
    result =
        hn::IfThenElse(hn::Gt(result, hn::Set(di, c_.largest_bits)), hn::Set(di, c_.overflow_bits), result);
    result = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x7F800000)), hn::Set(di, c_.nan_bits), result);
    return hn::BitCast(d, hn::Or(result, Signs(sign, magnitude, result, c_.nan_bits)));
  }

  HWY_INLINE VU Code(VF x) const {
    const DF d;
    const DI di;
    const VI bits = hn::BitCast(di, x), sign = hn::And(bits, hn::Set(di, kSign)),
             magnitude = hn::Xor(bits, sign);
    const VI normal = hn::Sub(hn::ShiftRightSame(Nearest(magnitude), c_.shift), hn::Set(di, c_.code_offset));
    const VF magic = hn::Set(d, c_.subnormal_magic);
    const VI subnormal =
        hn::Sub(hn::BitCast(di, hn::Add(hn::BitCast(d, magnitude), magic)), hn::BitCast(di, magic));
    VI result = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, c_.lowest_normal)), subnormal, normal);
    result =
        hn::IfThenElse(hn::Gt(result, hn::Set(di, c_.largest_code)), hn::Set(di, c_.overflow_code), result);
    result = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x7F800000)), hn::Set(di, c_.nan_code), result);
    const VI signs = Signs(sign, magnitude, result, c_.nan_code);
    const DU du;
    const VU shifted = hn::ShiftRightSame(hn::BitCast(du, signs), c_.sign_shift);
    return hn::Or(hn::BitCast(du, result), shifted);
  }

 private:
  static constexpr std::int32_t kSign = static_cast<std::int32_t>(0x80000000u);

  // The bits, rounded half to even at `shift`; those below are garbage. A carry into the exponent is right.
  HWY_INLINE VI Nearest(VI magnitude) const {
    const DI di;
    const VI odd = hn::And(hn::ShiftRightSame(magnitude, c_.shift), hn::Set(di, 1));
    return hn::Add(magnitude, hn::Add(odd, hn::Set(di, c_.round_up)));
  }

  // The sign bits to set: none where the format has no such zero or NaN.
  HWY_INLINE VI Signs(VI sign, VI magnitude, VI result, std::int32_t nan) const {
    const DI di;
    if (!c_.signed_nan) sign = hn::IfThenZeroElse(hn::Gt(magnitude, hn::Set(di, 0x7F800000)), sign);
    if (c_.signed_zero) return sign;
    sign = hn::IfThenZeroElse(hn::Eq(result, hn::Zero(di)), sign);
    return hn::IfThenZeroElse(hn::Eq(result, hn::Set(di, nan)), sign);
  }

  MinifloatConstants c_;
};

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
