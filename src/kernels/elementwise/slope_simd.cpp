#include <cstring>

#include "kernels/elementwise/slope.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/slope_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/float_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
using namespace float_math;

// The tail goes through buffers: nothing is read or written past n.
template <class F>
HWY_INLINE void EachPair(const float* dy, const float* v, float* out, std::size_t n, const F& f) {
  const DF d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, dy + i), hn::LoadU(d, v + i)), d, out + i);
  if (i == n) return;
  HWY_ALIGN float left[hn::MaxLanes(d)] = {}, right[hn::MaxLanes(d)] = {};
  std::memcpy(left, dy + i, (n - i) * sizeof(float));
  std::memcpy(right, v + i, (n - i) * sizeof(float));
  hn::Store(f(hn::Load(d, left), hn::Load(d, right)), d, left);
  std::memcpy(out + i, left, (n - i) * sizeof(float));
}

HWY_INLINE VF HardSwishSlope(VF x) {
  const VF inside = hn::MulAdd(x, Value(1.0f / 3), Value(0.5f));
  const VF above = hn::IfThenElse(hn::Gt(x, Value(3.0f)), Value(1.0f), inside);
  return hn::IfThenElse(hn::Lt(x, Value(-3.0f)), hn::Zero(DF()), above);
}

// Beyond ±16 the derivative is 0 or 1 in float32.
HWY_INLINE VF Bounded(VF x) {
  const VF inside = hn::Min(hn::Max(x, Value(-16.0f)), Value(16.0f));
  return hn::IfThenElse(hn::IsNaN(x), x, inside);
}

HWY_INLINE VF GeluSlope(VF given) {
  const VF x = Bounded(given);
  const VF below = hn::MulAdd(Erf(hn::Mul(x, Value(0.707106781f))), Value(0.5f), Value(0.5f));
  const VF density = hn::Mul(Exp(hn::Mul(hn::Mul(x, x), Value(-0.5f))), Value(0.398942280f));
  return hn::MulAdd(x, density, below);
}

// x · s(u) with s the logistic function and u = 2·√(2/π)·(x + 0.044715 x³).
HWY_INLINE VF TanhGeluSlope(VF given) {
  const VF x = Bounded(given), square = hn::Mul(x, x);
  const VF u = hn::Mul(hn::Mul(x, Value(1.59576912f)), hn::MulAdd(square, Value(0.044715f), Value(1.0f)));
  const VF s = Sigmoid(u);
  const VF steep = hn::Mul(hn::MulAdd(square, Value(0.134145f), Value(1.0f)), Value(1.59576912f));
  return hn::MulAdd(hn::Mul(hn::Mul(x, steep), s), hn::Sub(Value(1.0f), s), s);
}

// 1 above zero, `below` elsewhere.
HWY_INLINE VF StepSlope(VF x, VF below) {
  return hn::IfThenElse(hn::Gt(x, hn::Zero(DF())), Value(1.0f), below);
}
// Exponentials of positive arguments are not used, and must not overflow.
HWY_INLINE VF ExpBelow(VF x) { return Exp(hn::Min(x, hn::Zero(DF()))); }

// (x · s(a·x))' with u = a·x; beyond ±100 it is 0 or 1.
HWY_INLINE VF SwishSlope(VF x, VF a) {
  const VF u = hn::Min(hn::Max(hn::Mul(a, x), Value(-100.0f)), Value(100.0f)), s = Sigmoid(u);
  const VF slope = hn::Mul(s, hn::MulAdd(u, hn::Sub(Value(1.0f), s), Value(1.0f)));
  return hn::IfThenElse(hn::IsNaN(x), x, slope);
}
HWY_INLINE VF MishSlope(VF given) {
  const VF x = hn::Min(hn::Max(given, Value(-100.0f)), Value(100.0f)), t = Tanh(Softplus(x));
  const VF slope = hn::MulAdd(hn::Mul(x, Sigmoid(x)), hn::NegMulAdd(t, t, Value(1.0f)), t);
  return hn::IfThenElse(hn::IsNaN(given), given, slope);
}
HWY_INLINE VF SoftsignSlope(VF x) {
  const VF t = hn::Add(Value(1.0f), hn::Abs(x));
  return hn::Div(Value(1.0f), hn::Mul(t, t));
}

void TimesSlope(Slope function, const float* dy, const float* given, float* out, std::size_t n, float low,
                float high) {
  const DF d;
  const VF a = hn::Set(d, low), b = hn::Set(d, high), zero = hn::Zero(d), one = hn::Set(d, 1.0f);
#define ANYBIT_SLOPE(NAME, EXPRESSION) \
  case Slope::NAME:                    \
    return EachPair(dy, given, out, n, [&](VF g, VF v) HWY_ATTR { return EXPRESSION; })
  switch (function) {
    ANYBIT_SLOPE(relu, hn::IfThenElseZero(hn::Gt(v, zero), g));
    ANYBIT_SLOPE(clip, hn::IfThenElseZero(hn::And(hn::Ge(v, a), hn::Le(v, b)), g));
    ANYBIT_SLOPE(hard_swish, hn::Mul(g, HardSwishSlope(v)));
    ANYBIT_SLOPE(hard_sigmoid, hn::IfThenElseZero(hn::And(hn::Gt(v, zero), hn::Lt(v, one)), hn::Mul(g, a)));
    ANYBIT_SLOPE(sigmoid, hn::Mul(g, hn::Mul(v, hn::Sub(one, v))));
    ANYBIT_SLOPE(tanh, hn::Mul(g, hn::NegMulAdd(v, v, one)));
    ANYBIT_SLOPE(gelu, hn::Mul(g, GeluSlope(v)));
    ANYBIT_SLOPE(tanh_gelu, hn::Mul(g, TanhGeluSlope(v)));
    ANYBIT_SLOPE(celu, hn::Mul(g, StepSlope(v, ExpBelow(hn::Div(v, a)))));
    ANYBIT_SLOPE(elu, hn::Mul(g, StepSlope(v, hn::Mul(a, ExpBelow(v)))));
    ANYBIT_SLOPE(erf, hn::Mul(g, hn::Mul(Value(1.12837917f), Exp(hn::Neg(hn::Mul(v, v))))));
    ANYBIT_SLOPE(leaky_relu, hn::Mul(g, StepSlope(v, a)));
    ANYBIT_SLOPE(mish, hn::Mul(g, MishSlope(v)));
    ANYBIT_SLOPE(selu, hn::Mul(g, hn::Mul(b, StepSlope(v, hn::Mul(a, ExpBelow(v))))));
    ANYBIT_SLOPE(softplus, hn::Mul(g, Sigmoid(v)));
    ANYBIT_SLOPE(softsign, hn::Mul(g, SoftsignSlope(v)));
    ANYBIT_SLOPE(swish, hn::Mul(g, SwishSlope(v, a)));
    ANYBIT_SLOPE(thresholded_relu, hn::IfThenElseZero(hn::Gt(v, a), g));
  }
#undef ANYBIT_SLOPE
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

HWY_EXPORT(TimesSlope);

void times_slope(Slope function, const float* dy, const float* v, float* out, std::size_t n, float a,
                 float b) {
  HWY_DYNAMIC_DISPATCH(TimesSlope)(function, dy, v, out, n, a, b);
}

}  // namespace anybit::kernels
#endif
