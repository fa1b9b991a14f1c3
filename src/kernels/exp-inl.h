// exp, the logistic function and tanh on vectors of floats, to about 2 units in the last place. Included once
// for each SIMD target. NaNs stay; results below the smallest normal number become zero.
#if defined(ANYBIT_KERNELS_EXP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ANYBIT_KERNELS_EXP_INL_H_
#undef ANYBIT_KERNELS_EXP_INL_H_
#else
#define ANYBIT_KERNELS_EXP_INL_H_
#endif

#include <limits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// x = n·ln 2 + r with |r| ≤ ln 2 / 2; e^r by its Taylor series, 2^n by the exponent's bits.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V ExpOf(D d, V x) {
  const hn::RebindToSigned<D> di;
  const V n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504f)));
  // ln 2 in two parts: the first has so few bits that n times it is exact.
  V r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  V p = hn::Set(d, 1.0f / 5040);
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 720));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 120));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 24));
  p = hn::MulAdd(p, r, hn::Set(d, 1.0f / 6));
  p = hn::MulAdd(p, r, hn::Set(d, 0.5f));
  p = hn::MulAdd(p, hn::Mul(r, r), hn::Add(r, hn::Set(d, 1.0f)));
  // The largest n is 128, which has no float: half of it first.
  const auto whole = hn::ConvertTo(di, n);
  const auto half = hn::ShiftRight<1>(whole);
  const auto power = [&](auto e)
                         HWY_ATTR { return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(e, hn::Set(di, 127)))); };
  const V result = hn::Mul(hn::Mul(p, power(half)), power(hn::Sub(whole, half)));
  const V low = hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.33654f)), result);
  return hn::IfThenElse(hn::Gt(x, hn::Set(d, 88.72283f)), hn::Set(d, std::numeric_limits<float>::infinity()),
                        low);
}

template <class D, class V = hn::Vec<D>>
HWY_INLINE V SigmoidOf(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, ExpOf(d, hn::Neg(x))));
}

// Near zero the quotient of exponentials would lose digits: a fitted odd polynomial serves there.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V TanhOf(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  const V magnitude = hn::Abs(x);
  const V e = ExpOf(d, hn::Add(magnitude, magnitude));
  const V far = hn::Sub(one, hn::Div(hn::Set(d, 2.0f), hn::Add(e, one)));
  const V z = hn::Mul(x, x);
  V p = hn::Set(d, -5.70498872745e-3f);
  p = hn::MulAdd(p, z, hn::Set(d, 2.06390887954e-2f));
  p = hn::MulAdd(p, z, hn::Set(d, -5.37397155531e-2f));
  p = hn::MulAdd(p, z, hn::Set(d, 1.33314422036e-1f));
  p = hn::MulAdd(p, z, hn::Set(d, -3.33332819422e-1f));
  const V near = hn::MulAdd(hn::Mul(p, z), x, x);
  return hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, 0.625f)), near, hn::CopySign(far, x));
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
