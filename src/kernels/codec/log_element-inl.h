// Rounding to powers of two on vectors of float32; twin of LogLayout::encode.
#if defined(ANYBIT_KERNELS_LOG_ELEMENT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ANYBIT_KERNELS_LOG_ELEMENT_INL_H_
#undef ANYBIT_KERNELS_LOG_ELEMENT_INL_H_
#else
#define ANYBIT_KERNELS_LOG_ELEMENT_INL_H_
#endif

#include "formats/log.hpp"
#include "kernels/codec/group_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

// For layouts whose values are all normal float32 numbers.
class LogElement {
 public:
  explicit LogElement(const formats::LogLayout& layout) : layout_(layout) {}

  HWY_INLINE VF Round(VF x) const {
    const DI di;
    const VI code = Magnitude(x);
    VI bits = hn::ShiftLeft<23>(hn::Add(code, hn::Set(di, 127 - layout_.bias)));
    if (layout_.with_zero) bits = hn::IfThenZeroElse(hn::Eq(code, hn::Zero(di)), bits);
    return hn::BitCast(DF(), hn::Or(bits, Signs(x)));
  }

  HWY_INLINE VU Code(VF x) const {
    const DU du;
    const VU sign = hn::ShiftRightSame(hn::BitCast(du, Signs(x)), 32 - layout_.bits);
    return hn::Or(hn::BitCast(du, Magnitude(x)), sign);
  }

 private:
  // The code of the exponent. The addition carries into the exponent where the significand is above √2.
  HWY_INLINE VI Magnitude(VF x) const {
    const DI di;
    const VI bits = hn::And(hn::BitCast(di, x), hn::Set(di, 0x7FFFFFFF));
    const VI carry = hn::Set(di, 0x00800000 - static_cast<int>(formats::kAboveRootOfTwo));
    const VI exponent = hn::ShiftRight<23>(hn::Add(bits, carry));
    const VI low = hn::Set(di, layout_.with_zero ? 1 : 0), high = hn::Set(di, layout_.sign_bit() - 1);
    VI code = hn::Min(hn::Max(hn::Add(exponent, hn::Set(di, layout_.bias - 127)), low), high);
    if (layout_.with_zero) {
      const VI smallest = hn::Set(di, (127 - layout_.bias) << 23);
      code = hn::IfThenZeroElse(hn::Lt(bits, smallest), code);
    }
    return hn::IfThenZeroElse(hn::Gt(bits, hn::Set(di, 0x7F800000)), code);  // NaN
  }

  // The sign bit; none for NaN, nor for a zero that has no code.
  HWY_INLINE VI Signs(VF x) const {
    const DI di;
    const VI bits = hn::BitCast(di, x), magnitude = hn::And(bits, hn::Set(di, 0x7FFFFFFF));
    const VI sign = hn::IfThenZeroElse(hn::Gt(magnitude, hn::Set(di, 0x7F800000)), hn::Xor(bits, magnitude));
    return layout_.with_zero ? sign : hn::IfThenZeroElse(hn::Eq(magnitude, hn::Zero(di)), sign);
  }

  formats::LogLayout layout_;
};

// Decodes powers of two.
class LogDecoder {
 public:
  explicit LogDecoder(const formats::LogLayout& layout) : layout_(layout) {}
  HWY_INLINE VF operator()(VI code) const {
    const DI di;
    const VI sign = hn::And(code, hn::Set(di, layout_.sign_bit())), exponent = hn::Xor(code, sign);
    VI bits = hn::ShiftLeft<23>(hn::Add(exponent, hn::Set(di, 127 - layout_.bias)));
    if (layout_.with_zero) bits = hn::IfThenZeroElse(hn::Eq(exponent, hn::Zero(di)), bits);
    return hn::BitCast(DF(), hn::Or(bits, hn::ShiftLeftSame(sign, 32 - layout_.bits)));
  }

 private:
  formats::LogLayout layout_;
};

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
