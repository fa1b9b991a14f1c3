#include "kernels/elementwise/unary_gradient.hpp"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/unary_gradient_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/float_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
using namespace float_math;

// The tail goes through buffers: nothing is read or written past n.
template <class F>
HWY_INLINE void EachSlope(const float* dy, const float* v, float* out, std::size_t n, const F& f) {
  const DF d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const VF one = f(hn::LoadU(d, dy + i), hn::LoadU(d, v + i));
    const VF two = f(hn::LoadU(d, dy + i + lanes), hn::LoadU(d, v + i + lanes));
    hn::StoreU(one, d, out + i);
    hn::StoreU(two, d, out + i + lanes);
  }
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, dy + i), hn::LoadU(d, v + i)), d, out + i);
  if (i == n) return;
  HWY_ALIGN float x[hn::MaxLanes(d)] = {}, y[hn::MaxLanes(d)] = {};
  std::memcpy(x, dy + i, (n - i) * sizeof(float));
  std::memcpy(y, v + i, (n - i) * sizeof(float));
  hn::Store(f(hn::Load(d, x), hn::Load(d, y)), d, x);
  std::memcpy(out + i, x, (n - i) * sizeof(float));
}

// The slope is 1 above zero, `below` elsewhere.
HWY_INLINE VF AboveZero(VF g, VF v, VF below) {
  return hn::IfThenElse(hn::Gt(v, hn::Zero(DF())), g, hn::Mul(g, below));
}
HWY_INLINE VF Inside(VF g, VF v, VF low, VF high) {
  return hn::IfThenElseZero(hn::And(hn::Ge(v, low), hn::Le(v, high)), g);
}
// Exponentials of positive arguments are not used, and must not overflow.
HWY_INLINE VF ExpBelow(VF v) { return Exp(hn::Min(v, hn::Zero(DF()))); }

HWY_INLINE VF HardSwishSlope(VF v, VF a, VF b) {
  const VF t = hn::MulAdd(a, v, b), one = Value(1.0f);
  const VF middle = hn::MulAdd(a, v, t);
  return hn::IfThenElse(hn::Ge(t, one), one, hn::IfThenElseZero(hn::Gt(t, hn::Zero(DF())), middle));
}
// Near ±∞ the slopes of x · s(x) are 0 or 1; products with such x would be NaN.
HWY_INLINE VF Bounded(VF v) { return hn::Min(hn::Max(v, Value(-1e4f)), Value(1e4f)); }

HWY_INLINE VF SwishSlope(VF v, VF a) {
  const VF u = hn::Mul(a, Bounded(v)), s = Sigmoid(u);
  return hn::Mul(s, hn::MulAdd(u, hn::Sub(Value(1.0f), s), Value(1.0f)));
}
HWY_INLINE VF MishSlope(VF v) {
  const VF x = Bounded(v), t = Tanh(Softplus(x));
  return hn::MulAdd(hn::Mul(x, Sigmoid(x)), hn::NegMulAdd(t, t, Value(1.0f)), t);
}
HWY_INLINE VF GeluSlope(VF v) {
  const VF x = Bounded(v), half = Value(0.5f);
  const VF density = hn::Mul(Exp(hn::Mul(hn::Mul(x, x), Value(-0.5f))), Value(0.398942280f));
  return hn::MulAdd(x, density, hn::MulAdd(half, Erf(hn::Mul(x, Value(0.707106781f))), half));
}
// s(2u) + x · s(2u) · (1 - s(2u)) · 2u'
HWY_INLINE VF TanhGeluSlope(VF v) {
  const VF x = Bounded(v), z = hn::Mul(x, x);
  const VF u = hn::Mul(hn::Mul(x, hn::MulAdd(z, Value(0.044715f), Value(1.0f))), Value(1.59576912f));
  const VF slope = hn::Mul(hn::MulAdd(z, Value(0.134145f), Value(1.0f)), Value(1.59576912f));
  const VF s = Sigmoid(u);
  return hn::MulAdd(hn::Mul(hn::Mul(x, s), hn::Sub(Value(1.0f), s)), slope, s);
}
HWY_INLINE VF SoftsignSlope(VF v) {
  const VF t = hn::Add(Value(1.0f), hn::Abs(v));
  return hn::Div(Value(1.0f), hn::Mul(t, t));
}

void ApplySlope(Slope function, const float* dy, const float* v, float* out, std::size_t n, float first,
                float second) {
  const DF d;
  const VF a = hn::Set(d, first), b = hn::Set(d, second), zero = hn::Zero(d), one = hn::Set(d, 1.0f);
#define ANYBIT_SLOPE(NAME, EXPRESSION) \
  case Slope::NAME:                    \
    return EachSlope(dy, v, out, n, [&](VF g, VF x) HWY_ATTR { return EXPRESSION; })
  switch (function) {
    ANYBIT_SLOPE(celu, AboveZero(g, x, ExpBelow(hn::Div(x, a))));
    ANYBIT_SLOPE(clip, Inside(g, x, a, b));
    ANYBIT_SLOPE(elu, AboveZero(g, x, hn::Mul(a, ExpBelow(x))));
    ANYBIT_SLOPE(erf, hn::Mul(g, hn::Mul(Value(1.12837917f), Exp(hn::Neg(hn::Mul(x, x))))));
    ANYBIT_SLOPE(gelu, hn::Mul(g, GeluSlope(x)));
    ANYBIT_SLOPE(hard_sigmoid,
                 hn::IfThenElseZero(hn::And(hn::Gt(hn::MulAdd(a, x, b), zero), hn::Lt(hn::MulAdd(a, x, b), one)),
                                    hn::Mul(g, a)));
    ANYBIT_SLOPE(hard_swish, hn::Mul(g, HardSwishSlope(x, a, b)));
    ANYBIT_SLOPE(leaky_relu, AboveZero(g, x, a));
    ANYBIT_SLOPE(mish, hn::Mul(g, MishSlope(x)));
    ANYBIT_SLOPE(relu, hn::IfThenElseZero(hn::Gt(x, zero), g));
    ANYBIT_SLOPE(selu, hn::Mul(b, AboveZero(g, x, hn::Mul(a, ExpBelow(x)))));
    ANYBIT_SLOPE(sigmoid, hn::Mul(g, hn::Mul(x, hn::Sub(one, x))));
    ANYBIT_SLOPE(softplus, hn::Mul(g, Sigmoid(x)));
    ANYBIT_SLOPE(softsign, hn::Mul(g, SoftsignSlope(x)));
    ANYBIT_SLOPE(swish, hn::Mul(g, SwishSlope(x, a)));
    ANYBIT_SLOPE(tanh, hn::Mul(g, hn::NegMulAdd(x, x, one)));
    ANYBIT_SLOPE(tanh_gelu, hn::Mul(g, TanhGeluSlope(x)));
    ANYBIT_SLOPE(thresholded_relu, hn::IfThenElseZero(hn::Gt(x, a), g));
  }
#undef ANYBIT_SLOPE
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {
HWY_EXPORT(ApplySlope);

void map_gradient(Slope function, const float* dy, const float* v, float* out, std::size_t n, float a, float b) {
  HWY_DYNAMIC_DISPATCH(ApplySlope)(function, dy, v, out, n, a, b);
}
}  // namespace anybit::kernels
#endif  // HWY_ONCE
