// Rounds float32 to integers, to the nearest, with each rule for ties.
#if defined(ANYBIT_KERNELS_NEAREST_INTEGER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ANYBIT_KERNELS_NEAREST_INTEGER_INL_H_
#undef ANYBIT_KERNELS_NEAREST_INTEGER_INL_H_
#else
#define ANYBIT_KERNELS_NEAREST_INTEGER_INL_H_
#endif

#include "formats/rounding.hpp"
#include "kernels/codec/group_loops-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

// Below 2^23. Ties below zero go away from zero only with half_away; a zero keeps its sign.
template <formats::Rounding kRounding>
HWY_INLINE VF Nearest(VF y) {
  const DF d;
  if constexpr (kRounding == formats::Rounding::half_even) return hn::Round(y);
  const VF magnitude = hn::Abs(y), below = hn::Trunc(magnitude), rest = hn::Sub(magnitude, below);
  const VF half = hn::Set(d, 0.5f);
  auto up = hn::Ge(rest, half);
  if constexpr (kRounding == formats::Rounding::half_up)
    up = hn::Or(hn::Gt(rest, half), hn::AndNot(hn::Lt(y, hn::Zero(d)), up));
  return hn::CopySign(hn::Add(below, hn::IfThenElseZero(up, hn::Set(d, 1.0f))), y);
}

// Calls body(integral constant) with the rounding, which is to the nearest.
template <class Body>
HWY_INLINE std::size_t WithNearest(formats::Rounding rounding, const Body& body) {
  using formats::Rounding;
  switch (rounding) {
    case Rounding::half_away:
      return body(std::integral_constant<Rounding, Rounding::half_away>());
    case Rounding::half_up:
      return body(std::integral_constant<Rounding, Rounding::half_up>());
    default:
      return body(std::integral_constant<Rounding, Rounding::half_even>());
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
