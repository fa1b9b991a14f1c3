// Vectorized exp, log, tanh, erf and related functions for float32. The polynomials were fitted by reweighted
// least squares; tests/unit/kernels/unary_test.cpp checks the errors against double. Included once for each
// SIMD target.
#if defined(ANYBIT_KERNELS_FLOAT_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ANYBIT_KERNELS_FLOAT_MATH_INL_H_
#undef ANYBIT_KERNELS_FLOAT_MATH_INL_H_
#else
#define ANYBIT_KERNELS_FLOAT_MATH_INL_H_
#endif

#include <limits>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
namespace float_math {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<DF>;
using VF = hn::Vec<DF>;
using VI = hn::Vec<DI>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

HWY_INLINE VF Value(float x) { return hn::Set(DF(), x); }

// c0 + c1·x + …, by Horner's rule.
template <std::size_t kCount>
HWY_INLINE VF Polynomial(VF x, const float (&coefficients)[kCount]) {
  VF sum = Value(coefficients[kCount - 1]);
  for (std::size_t i = kCount - 1; i-- > 0;) sum = hn::MulAdd(sum, x, Value(coefficients[i]));
  return sum;
}

HWY_INLINE VF PowerOfTwo(VI exponent) {
  return hn::BitCast(DF(), hn::ShiftLeft<23>(hn::Add(exponent, hn::Set(DI(), 127))));
}

// x = n·ln 2 + r with |r| ≤ ln 2 / 2. 2^n is applied as two factors, so that results reach the subnormals and
// infinity.
HWY_INLINE VF Exp(VF x) {
  constexpr float kFit[] = {0.499999934f, 0.166665206f, 0.0416683881f, 0.00836871709f, 0.00138145964f};
  const VF clamped = hn::Min(hn::Max(x, Value(-104.0f)), Value(89.0f));
  const VF n = hn::Round(hn::Mul(clamped, Value(1.44269504f)));
  // ln 2 in two parts: the first has so few bits that n times it is exact.
  VF r = hn::NegMulAdd(n, Value(0.693359375f), clamped);
  r = hn::NegMulAdd(n, Value(-2.12194440e-4f), r);
  const VF p = hn::MulAdd(Polynomial(r, kFit), hn::Mul(r, r), hn::Add(r, Value(1.0f)));
  const VI integer = hn::ConvertTo(DI(), n);
  const VI half = hn::ShiftRight<1>(integer);
  const VF result = hn::Mul(hn::Mul(p, PowerOfTwo(half)), PowerOfTwo(hn::Sub(integer, half)));
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

// log((1 + s) / (1 - s)) for |s| ≤ 1/3.
HWY_INLINE VF LogOfRatio(VF s) {
  constexpr float kFit[] = {0.666666756f, 0.399988758f, 0.28616945f, 0.214269346f, 0.243038931f};
  const VF z = hn::Mul(s, s);
  return hn::MulAdd(hn::Mul(s, z), Polynomial(z, kFit), hn::Add(s, s));
}

// log(1 + u) for u in [0, 1].
HWY_INLINE VF Log1p(VF u) { return LogOfRatio(hn::Div(u, hn::Add(u, Value(2.0f)))); }

// x = 2^e · m with m in [√½, √2).
HWY_INLINE VF Log(VF x) {
  const DI di;
  const auto tiny = hn::Lt(x, Value(1.17549435e-38f));
  const VF normal = hn::IfThenElse(tiny, hn::Mul(x, Value(8388608.0f)), x);
  const VI bits = hn::BitCast(di, normal);
  const VI shifted = hn::Sub(bits, hn::Set(di, 0x3F3504F3));  // the float next to √½
  const VI e = hn::ShiftRight<23>(shifted);
  const VF m = hn::BitCast(DF(), hn::Sub(bits, hn::ShiftLeft<23>(e)));
  const VF exponent = hn::Sub(hn::ConvertTo(DF(), e), hn::IfThenElseZero(tiny, Value(23.0f)));
  const VF s = hn::Div(hn::Sub(m, Value(1.0f)), hn::Add(m, Value(1.0f)));
  // The small part of e·ln 2 is added to the small logarithm first.
  VF result = hn::MulAdd(exponent, Value(-2.12194440e-4f), LogOfRatio(s));
  result = hn::MulAdd(exponent, Value(0.693359375f), result);
  result = hn::IfThenElse(hn::Eq(x, Value(kInfinity)), x, result);
  result = hn::IfThenElse(hn::Eq(x, hn::Zero(DF())), Value(-kInfinity), result);
  result = hn::IfThenElse(hn::Lt(x, hn::Zero(DF())), hn::NaN(DF()), result);
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

// The exponential is at most 1 for either sign of x, so small results keep their precision.
HWY_INLINE VF Sigmoid(VF x) {
  const VF e = Exp(hn::Neg(hn::Abs(x)));
  const VF top = hn::IfThenElse(hn::Lt(x, hn::Zero(DF())), e, Value(1.0f));
  return hn::Div(top, hn::Add(e, Value(1.0f)));
}

HWY_INLINE VF Tanh(VF x) {
  constexpr float kFit[] = {-0.333332812f, 0.133314203f, -0.053737795f, 0.0206325374f, -0.00569737506f};
  const VF magnitude = hn::Abs(x), z = hn::Mul(x, x);
  const VF near = hn::MulAdd(hn::Mul(z, x), Polynomial(z, kFit), x);
  const VF e = Exp(hn::Mul(magnitude, Value(-2.0f)));
  const VF far = hn::Div(hn::Sub(Value(1.0f), e), hn::Add(Value(1.0f), e));
  return hn::IfThenElse(hn::Lt(magnitude, Value(0.625f)), near, hn::CopySign(far, x));
}

constexpr float kErfSplit = 0.92f;

// erf(x) for |x| < kErfSplit.
HWY_INLINE VF ErfNear(VF x) {
  constexpr float kFit[] = {1.12837917f,    -0.376126339f,    0.112836973f,  -0.0268595001f,
                            0.00520128602f, -0.000814559683f, 8.3823877e-05f};
  return hn::Mul(x, Polynomial(hn::Mul(x, x), kFit));
}

// 1 - erf(t) for t ≥ kErfSplit, by a polynomial for its logarithm. Beyond 4, where 1 - erf(t) vanishes next
// to 1 in float32, it decays like e^(-t²).
HWY_INLINE VF ErfcFar(VF t) {
  constexpr float kFit[] = {0.000294276103f, -1.1301315f,     -0.631995321f,    -0.10992519f,   0.0263355435f,
                            -0.0047302833f,  0.000590715543f, -4.53546201e-05f, 1.60249202e-06f};
  const VF inside = hn::Min(t, Value(4.0f)), outside = hn::Max(t, Value(4.0f));
  const VF beyond = hn::Mul(hn::Sub(outside, Value(4.0f)), hn::Add(outside, Value(4.0f)));
  return Exp(hn::Sub(Polynomial(inside, kFit), beyond));
}

HWY_INLINE VF Erf(VF x) {
  const VF t = hn::Abs(x);
  const VF far = hn::CopySign(hn::Sub(Value(1.0f), ErfcFar(t)), x);
  const VF result = hn::IfThenElse(hn::Lt(t, Value(kErfSplit)), ErfNear(x), far);
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

// x · (1 + erf(x / √2)) / 2. For negative x the erfc part is used directly, to avoid cancellation.
HWY_INLINE VF Gelu(VF x) {
  const VF scaled = hn::Mul(x, Value(0.707106781f));
  const VF t = hn::Abs(scaled);
  const VF c = ErfcFar(t);
  const VF far = hn::IfThenElse(hn::Lt(x, hn::Zero(DF())), c, hn::Sub(Value(2.0f), c));
  const VF sum = hn::IfThenElse(hn::Lt(t, Value(kErfSplit)), hn::Add(Value(1.0f), ErfNear(scaled)), far);
  // -∞ · 0 would be NaN; the limit is zero.
  const VF result = hn::Mul(hn::Mul(hn::Max(x, Value(-1e30f)), Value(0.5f)), sum);
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

// x / (1 + e^(-a·x)), for a > 0, without -∞ · 0.
HWY_INLINE VF Swish(VF x, VF a) {
  const VF result = hn::Mul(hn::Max(x, Value(-1e30f)), Sigmoid(hn::Mul(x, a)));
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

// x · (1 + tanh(√(2/π) · (x + 0.044715 x³))) / 2, in which (1 + tanh(u)) / 2 is the logistic function of 2u.
HWY_INLINE VF TanhGelu(VF x) {
  const VF cubic = hn::MulAdd(hn::Mul(x, x), Value(0.044715f), Value(1.0f));
  const VF u = hn::Mul(hn::Mul(x, cubic), Value(1.59576912f));
  const VF result = hn::Mul(hn::Max(x, Value(-1e30f)), Sigmoid(u));
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

// log(1 + e^x)
HWY_INLINE VF Softplus(VF x) {
  const VF result = hn::Add(hn::Max(x, hn::Zero(DF())), Log1p(Exp(hn::Neg(hn::Abs(x)))));
  return hn::IfThenElse(hn::IsNaN(x), x, result);
}

// x · tanh(softplus(x)) = x · (e² + 2e) / (e² + 2e + 2) with e = e^x; equal to x from 20 on.
HWY_INLINE VF Mish(VF x) {
  const VF e = Exp(hn::Min(x, Value(20.0f)));
  const VF top = hn::Mul(e, hn::Add(e, Value(2.0f)));
  const VF result = hn::Div(hn::Mul(hn::Max(x, Value(-1e30f)), top), hn::Add(top, Value(2.0f)));
  return hn::IfThenElse(hn::Or(hn::Gt(x, Value(20.0f)), hn::IsNaN(x)), x, result);
}

// e^x - 1 for x ≤ 0. Near zero by tanh: e^x - 1 = t · (e^x + 1) with t = tanh(x / 2).
HWY_INLINE VF ExpM1(VF x) {
  const VF e = Exp(x);
  const VF near = hn::Mul(Tanh(hn::Mul(x, Value(0.5f))), hn::Add(e, Value(1.0f)));
  return hn::IfThenElse(hn::Gt(x, Value(-0.5f)), near, hn::Sub(e, Value(1.0f)));
}

}  // namespace float_math
}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
