#include <array>
#include <cstring>

#include "kernels/elementwise/update.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/elementwise/update_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
using Vector = hn::Vec<hn::ScalableTag<T>>;

// Calls step(i, load, store) with the position and how to read and write there. The tail goes through a
// buffer, so every element gets the same operations.
template <class T, class Step>
HWY_INLINE void EachVector(std::size_t n, const Step& step) {
  const hn::ScalableTag<T> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    step([&](const T* from) HWY_ATTR { return hn::LoadU(d, from + i); },
         [&](Vector<T> v, T* to) HWY_ATTR { hn::StoreU(v, d, to + i); });
  }
  if (i == n) return;
  const std::size_t bytes = (n - i) * sizeof(T);
  HWY_ALIGN T buffer[hn::MaxLanes(d)];
  step(
      [&](const T* from) HWY_ATTR {
        std::memset(buffer, 0, sizeof(buffer));
        std::memcpy(buffer, from + i, bytes);
        return hn::Load(d, buffer);
      },
      [&](Vector<T> v, T* to) HWY_ATTR {
        hn::Store(v, d, buffer);
        std::memcpy(to + i, buffer, bytes);
      });
}

template <class T>
HWY_INLINE Vector<T> All(double value) {
  return hn::Set(hn::ScalableTag<T>(), static_cast<T>(value));
}

// NaN stays.
template <class T>
HWY_INLINE Vector<T> NotBelow(Vector<T> x, Vector<T> lower) {
  return hn::IfThenElse(hn::Lt(x, lower), lower, x);
}

template <class T>
HWY_INLINE void Adam(const AdamRule& rule, const AdamPart<T>& part) {
  using V = Vector<T>;
  const V beta1 = All<T>(rule.beta1), rest1 = All<T>(1 - rule.beta1);
  const V beta2 = All<T>(rule.beta2), rest2 = All<T>(1 - rule.beta2);
  const V spread = All<T>(1 / rule.correction2), epsilon = All<T>(rule.epsilon);
  const V rate = All<T>(-rule.rate / rule.correction1), keep = All<T>(1 - rule.rate * rule.decay);
  const V lower = All<T>(rule.lower);
  EachVector<T>(part.n, [&](const auto& load, const auto& store) HWY_ATTR {
    const V g = load(part.g);
    const V m = hn::MulAdd(beta1, load(part.m), hn::Mul(rest1, g));
    const V v = hn::MulAdd(beta2, load(part.v), hn::Mul(hn::Mul(rest2, g), g));
    const V below = hn::Add(hn::Sqrt(hn::Mul(v, spread)), epsilon);
    const V x = hn::MulAdd(rate, hn::Div(m, below), hn::Mul(keep, load(part.x)));
    store(m, part.m_out);
    store(v, part.v_out);
    store(NotBelow<T>(x, lower), part.x_out);
  });
}

template <class T>
HWY_INLINE void Momentum(const MomentumRule& rule, const MomentumPart<T>& part) {
  using V = Vector<T>;
  const V rate = All<T>(-rule.rate), decay = All<T>(rule.decay), momentum = All<T>(rule.momentum);
  const V lower = All<T>(rule.lower);
  EachVector<T>(part.n, [&](const auto& load, const auto& store) HWY_ATTR {
    const V x = load(part.x), g = hn::MulAdd(decay, x, load(part.g));
    const V v = hn::MulAdd(momentum, load(part.v), g);
    const V step = rule.nesterov ? hn::MulAdd(momentum, v, g) : v;
    store(v, part.v_out);
    store(NotBelow<T>(hn::MulAdd(rate, step, x), lower), part.x_out);
  });
}

template <class T>
HWY_INLINE void Average(double weight, const T* average, const T* x, T* out, std::size_t n) {
  const Vector<T> part = All<T>(weight);
  EachVector<T>(n, [&](const auto& load, const auto& store) HWY_ATTR {
    const Vector<T> before = load(average);
    store(hn::MulAdd(part, hn::Sub(load(x), before), before), out);
  });
}

template <class T>
HWY_INLINE void Scale(double factor, const T* x, T* out, std::size_t n) {
  const Vector<T> by = All<T>(factor);
  EachVector<T>(n, [&](const auto& load, const auto& store) HWY_ATTR { store(hn::Mul(by, load(x)), out); });
}

void AdamFloat(const AdamRule& rule, const AdamPart<float>& part) { Adam(rule, part); }
void AdamDouble(const AdamRule& rule, const AdamPart<double>& part) { Adam(rule, part); }
void MomentumFloat(const MomentumRule& rule, const MomentumPart<float>& part) { Momentum(rule, part); }
void MomentumDouble(const MomentumRule& rule, const MomentumPart<double>& part) { Momentum(rule, part); }
void AverageFloat(double weight, const float* average, const float* x, float* out, std::size_t n) {
  Average(weight, average, x, out, n);
}
void AverageDouble(double weight, const double* average, const double* x, double* out, std::size_t n) {
  Average(weight, average, x, out, n);
}
void ScaleFloat(double factor, const float* x, float* out, std::size_t n) { Scale(factor, x, out, n); }
void ScaleDouble(double factor, const double* x, double* out, std::size_t n) { Scale(factor, x, out, n); }

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

HWY_EXPORT(AdamFloat);
HWY_EXPORT(AdamDouble);
HWY_EXPORT(MomentumFloat);
HWY_EXPORT(MomentumDouble);
HWY_EXPORT(AverageFloat);
HWY_EXPORT(AverageDouble);
HWY_EXPORT(ScaleFloat);
HWY_EXPORT(ScaleDouble);

void adam_step(const AdamRule& rule, const AdamPart<float>& part) {
  HWY_DYNAMIC_DISPATCH(AdamFloat)(rule, part);
}
void adam_step(const AdamRule& rule, const AdamPart<double>& part) {
  HWY_DYNAMIC_DISPATCH(AdamDouble)(rule, part);
}
void momentum_step(const MomentumRule& rule, const MomentumPart<float>& part) {
  HWY_DYNAMIC_DISPATCH(MomentumFloat)(rule, part);
}
void momentum_step(const MomentumRule& rule, const MomentumPart<double>& part) {
  HWY_DYNAMIC_DISPATCH(MomentumDouble)(rule, part);
}
void average_step(double weight, const float* average, const float* x, float* out, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(AverageFloat)(weight, average, x, out, n);
}
void average_step(double weight, const double* average, const double* x, double* out, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(AverageDouble)(weight, average, x, out, n);
}
void scale_step(double factor, const float* x, float* out, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(ScaleFloat)(factor, x, out, n);
}
void scale_step(double factor, const double* x, double* out, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(ScaleDouble)(factor, x, out, n);
}

}  // namespace anybit::kernels
#endif
