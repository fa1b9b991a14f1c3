// AVX-512, too: exponentials take twice as long with half as wide vectors.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_AVX3_DL)

#include <cstring>

#include "kernels/choose.hpp"
#include "kernels/elementwise/unary.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/unary_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/float_math-inl.h"

#ifndef ANYBIT_KERNELS_MAP_ONCE_
#define ANYBIT_KERNELS_MAP_ONCE_
namespace anybit::kernels {
struct UnaryWork {
  Map function;
  const float* x;
  float* out;
  std::size_t n;
  float a, b;
};
}  // namespace anybit::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
using namespace float_math;

// The tail goes through a buffer: nothing is read or written past n.
template <class F>
HWY_INLINE void Each(const float* x, float* out, std::size_t n, const F& f) {
  const DF d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  // Two at a time, to hide latency.
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const VF one = f(hn::LoadU(d, x + i)), two = f(hn::LoadU(d, x + i + lanes));
    hn::StoreU(one, d, out + i);
    hn::StoreU(two, d, out + i + lanes);
  }
  for (; i + lanes <= n; i += lanes) hn::StoreU(f(hn::LoadU(d, x + i)), d, out + i);
  if (i == n) return;
  HWY_ALIGN float buffer[hn::MaxLanes(d)] = {};
  std::memcpy(buffer, x + i, (n - i) * sizeof(float));
  hn::Store(f(hn::Load(d, buffer)), d, buffer);
  std::memcpy(out + i, buffer, (n - i) * sizeof(float));
}

HWY_INLINE VF Between(VF x, VF low, VF high) {
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Min(hn::Max(x, low), high));
}

HWY_INLINE VF BelowZero(VF x, VF below) { return hn::IfThenElse(hn::Lt(x, hn::Zero(DF())), below, x); }

void Apply(const UnaryWork& work) {
  const DF d;
  const VF a = hn::Set(d, work.a), b = hn::Set(d, work.b), zero = hn::Zero(d), one = hn::Set(d, 1.0f);
#define ANYBIT_MAP(NAME, EXPRESSION) \
  case Map::NAME:                    \
    return Each(work.x, work.out, work.n, [&](VF v) HWY_ATTR { return EXPRESSION; })
  switch (work.function) {
    ANYBIT_MAP(absolute, hn::Abs(v));
    ANYBIT_MAP(ceil, hn::Ceil(v));
    ANYBIT_MAP(celu, BelowZero(v, hn::Mul(a, ExpM1(hn::Div(v, a)))));
    ANYBIT_MAP(clip, Between(v, a, b));
    ANYBIT_MAP(elu, BelowZero(v, hn::Mul(a, ExpM1(v))));
    ANYBIT_MAP(erf, Erf(v));
    ANYBIT_MAP(exp, Exp(v));
    ANYBIT_MAP(floor, hn::Floor(v));
    ANYBIT_MAP(gelu, Gelu(v));
    ANYBIT_MAP(hard_sigmoid, Between(hn::Add(hn::Mul(a, v), b), zero, one));
    ANYBIT_MAP(hard_swish, hn::Mul(v, Between(hn::Add(hn::Mul(a, v), b), zero, one)));
    ANYBIT_MAP(leaky_relu, BelowZero(v, hn::Mul(a, v)));
    ANYBIT_MAP(log, Log(v));
    ANYBIT_MAP(mish, Mish(v));
    ANYBIT_MAP(negative, hn::Neg(v));
    ANYBIT_MAP(reciprocal, hn::Div(one, v));
    ANYBIT_MAP(relu, BelowZero(v, zero));
    ANYBIT_MAP(round, hn::Round(v));
    ANYBIT_MAP(selu, hn::Mul(b, BelowZero(v, hn::Mul(a, ExpM1(v)))));
    ANYBIT_MAP(shrink, hn::IfThenElse(hn::Lt(v, hn::Neg(a)), hn::Add(v, b),
                                      hn::IfThenElseZero(hn::Gt(v, a), hn::Sub(v, b))));
    ANYBIT_MAP(sigmoid, Sigmoid(v));
    ANYBIT_MAP(sign, hn::IfThenElse(hn::Gt(v, zero), one, BelowZero(v, hn::Neg(one))));
    ANYBIT_MAP(softplus, Softplus(v));
    ANYBIT_MAP(softsign, hn::Div(v, hn::Add(one, hn::Abs(v))));
    ANYBIT_MAP(sqrt, hn::Sqrt(v));
    ANYBIT_MAP(swish, Swish(v, a));
    ANYBIT_MAP(tanh, Tanh(v));
    ANYBIT_MAP(tanh_gelu, TanhGelu(v));
    ANYBIT_MAP(thresholded_relu, hn::IfThenElseZero(hn::Gt(v, a), v));
  }
#undef ANYBIT_MAP
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

std::span<const Descriptor> unary_simd_descriptors() {
  using enum Instructions;
  static const Descriptor all[] = {
      {"16 lanes", "float32", "", avx512, false, 0, FloatUnary{HWY_CHOOSE_AVX3(Apply)}},
      {"vectors", "float32", "", avx2, false, 0, FloatUnary{HWY_CHOOSE_AVX2(Apply)}},
      {"vectors", "float32", "", baseline, true, 0, FloatUnary{HWY_STATIC_DISPATCH(Apply)}},
  };
  return all;
}

void map(Map function, const float* x, float* out, std::size_t n, float a, float b) {
  const UnaryWork work{function, x, out, n, a, b};
  choose<FloatUnary>(work).run(work);
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
