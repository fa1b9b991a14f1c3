// Loops over blocks that share a power-of-two scale, for any element. Each returns the first block that it
// skipped (its exponent is out of reach), or the number of blocks.
#if defined(ANYBIT_KERNELS_SHARED_EXPONENT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ANYBIT_KERNELS_SHARED_EXPONENT_INL_H_
#undef ANYBIT_KERNELS_SHARED_EXPONENT_INL_H_
#else
#define ANYBIT_KERNELS_SHARED_EXPONENT_INL_H_
#endif

#include <bit>

#include "formats/float_bits.hpp"
#include "kernels/codec/group_kernel.hpp"
#include "kernels/codec/group_loops-inl.h"
#include "kernels/codec/shared_exponent.hpp"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

// Integers in two's complement or sign-magnitude. NaN becomes zero.
class IntegerElement {
 public:
  explicit IntegerElement(const IntegerConstants& c)
      : signed_magnitude_(c.sign_code != 0),
        units_(hn::Set(DF(), c.units)),
        lowest_(hn::Set(DF(), c.lowest)),
        highest_(hn::Set(DF(), c.highest)),
        mask_(hn::Set(DU(), c.mask)),
        sign_code_(hn::Set(DU(), c.sign_code)) {}

  HWY_INLINE VF Round(VF x) const {
    const VF number = Number(x);
    const VF value = hn::ConvertTo(DF(), Integer(number));
    return signed_magnitude_ ? hn::CopySign(value, number) : value;
  }
  HWY_INLINE VU Code(VF x) const {
    const DU du;
    const VF number = Number(x);
    const VI integer = Integer(number);
    if (!signed_magnitude_) return hn::And(hn::BitCast(du, integer), mask_);
    const VI signs = hn::BroadcastSignBit(hn::BitCast(DI(), number));
    return hn::Or(hn::BitCast(du, hn::Abs(integer)), hn::And(hn::BitCast(du, signs), sign_code_));
  }

 private:
  HWY_INLINE VF Number(VF x) const { return hn::IfThenElseZero(hn::Eq(x, x), x); }
  HWY_INLINE VI Integer(VF number) const {
    return hn::NearestInt(hn::Min(hn::Max(hn::Mul(number, units_), lowest_), highest_));
  }
  bool signed_magnitude_;
  VF units_, lowest_, highest_;
  VU mask_, sign_code_;
};

// Decodes integers, in units.
class IntegerDecoder {
 public:
  explicit IntegerDecoder(const IntegerConstants& c)
      : signed_magnitude_(c.sign_code != 0),
        shift_(std::countl_zero(signed_magnitude_ ? c.sign_code : c.mask)),
        sign_code_(hn::Set(DI(), static_cast<std::int32_t>(c.sign_code))) {}
  HWY_INLINE VF operator()(VI code) const {
    const DF d;
    const VI up = hn::ShiftLeftSame(code, shift_);  // the sign bit on top
    if (!signed_magnitude_) return hn::ConvertTo(d, hn::ShiftRightSame(up, shift_));
    return hn::CopySignToAbs(hn::ConvertTo(d, hn::AndNot(sign_code_, code)), hn::BitCast(d, up));
  }

 private:
  bool signed_magnitude_;
  int shift_;
  VI sign_code_;
};

template <class Decoder>
HWY_INLINE std::size_t DecodeBlocks(const Decoder& decoder, const SharedExponent& s, const Groups& shape,
                                    std::size_t g, CodesIn codes, const std::uint32_t* words, float* out) {
  for (; g < shape.groups; ++g) {
    const int e = s.exponent(words[g * shape.stride]);
    if (!s.reaches(e)) break;
    const VF factor = hn::Set(DF(), formats::power_of_two(s.after + e));
    DecodeRun([&](VI code) HWY_ATTR { return hn::Mul(decoder(code), factor); }, codes + g * shape.size,
              shape.size, out + g * shape.size);
  }
  return g;
}

template <class Element>
HWY_INLINE std::size_t RoundBlocks(const Element& element, const SharedExponent& s, const Groups& shape,
                                   std::size_t g, const float* x, const std::uint32_t* words, float* out) {
  for (; g < shape.groups; ++g) {
    const int e = s.exponent(words[g * shape.stride]);
    if (!s.reaches(e)) break;
    RoundRun(element, Multiply(), x + g * shape.size, shape.size, formats::power_of_two(s.before - e),
             formats::power_of_two(s.after + e), out + g * shape.size);
  }
  return g;
}

template <class Element>
HWY_INLINE std::size_t CodeBlocks(const Element& element, const SharedExponent& s, const Groups& shape,
                                  std::size_t g, const float* x, const std::uint32_t* words, CodesOut codes) {
  for (; g < shape.groups; ++g) {
    const int e = s.exponent(words[g * shape.stride]);
    if (!s.reaches(e)) break;
    CodeRun(element, Multiply(), x + g * shape.size, shape.size, formats::power_of_two(s.before - e),
            codes + g * shape.size);
  }
  return g;
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
