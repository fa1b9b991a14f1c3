// Loops over blocks that share a power of two, for any element. Each returns the first block that it could
// not do (its exponent is out of reach), or the number of blocks.
#if defined(ANYBIT_KERNELS_SHARED_EXPONENT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ANYBIT_KERNELS_SHARED_EXPONENT_INL_H_
#undef ANYBIT_KERNELS_SHARED_EXPONENT_INL_H_
#else
#define ANYBIT_KERNELS_SHARED_EXPONENT_INL_H_
#endif

#include "formats/float_bits.hpp"
#include "kernels/group_kernel.hpp"
#include "kernels/group_loops-inl.h"
#include "kernels/shared_exponent.hpp"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

// Whole numbers from `lowest` to `highest`, in two's complement or as sign and magnitude.
struct WholeElement {
  float units = 1;  // of a value of 1
  float lowest = 0, highest = 0;
  std::uint32_t mask = 0;       // of a code
  std::uint32_t sign_code = 0;  // sign and magnitude: the sign's bit in a code; 0: two's complement

  HWY_INLINE VI Whole(VF x) const {
    const DF d;
    const VF scaled = hn::Mul(x, hn::Set(d, units));
    return hn::NearestInt(hn::Min(hn::Max(scaled, hn::Set(d, lowest)), hn::Set(d, highest)));
  }
  HWY_INLINE VF Round(VF x) const {
    const DF d;
    const VF value = hn::ConvertTo(d, Whole(x));
    return sign_code == 0 ? value : hn::CopySign(value, x);
  }
  HWY_INLINE VU Code(VF x) const {
    const DU du;
    const VI whole = Whole(x);
    if (sign_code == 0) return hn::And(hn::BitCast(du, whole), hn::Set(du, mask));
    const VU negative = hn::ShiftRight<31>(hn::BitCast(du, x));
    return hn::Or(hn::BitCast(du, hn::Abs(whole)), hn::Mul(negative, hn::Set(du, sign_code)));
  }
};

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

template <class Element, class Code>
HWY_INLINE std::size_t CodeBlocks(const Element& element, const SharedExponent& s, const Groups& shape,
                                  std::size_t g, const float* x, const std::uint32_t* words, Code* codes) {
  for (; g < shape.groups; ++g) {
    const int e = s.exponent(words[g * shape.stride]);
    if (!s.reaches(e)) break;
    CodeRun(element, Multiply(), x + g * shape.size, shape.size, formats::power_of_two(s.before - e),
            codes + g * shape.size);
  }
  return g;
}

// Each block's largest magnitude as bits, into its first word.
HWY_INLINE void LargestOfBlocks(const Groups& shape, const float* x, std::uint32_t* words) {
  for (std::size_t g = 0; g < shape.groups; ++g) {
    words[g * shape.stride] = LargestBits(x + g * shape.size, shape.size);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
