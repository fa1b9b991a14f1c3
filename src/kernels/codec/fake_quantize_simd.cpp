#include "kernels/codec/fake_quantize.hpp"

#include <algorithm>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/codec/fake_quantize_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// Sums are kept in float over this many values, then in double.
constexpr std::size_t kRun = 4096;

struct Rounded {
  V quotient, nearest, held;  // x / step; rounded; in the range
};

HWY_INLINE Rounded Round(V x, V step, V low, V high) {
  const V quotient = hn::Div(x, step), nearest = hn::Round(quotient);
  return {quotient, nearest, hn::Min(hn::Max(nearest, low), high)};
}

struct FakeTerms {
  V dx, step, zero_point;
};

HWY_INLINE FakeTerms Gradient(const Rounded& rounded, V dy, V step) {
  const auto inside = hn::Eq(rounded.nearest, rounded.held);
  const V by_step = hn::IfThenElse(inside, hn::Sub(rounded.nearest, rounded.quotient), rounded.held);
  return {hn::IfThenElseZero(inside, dy), hn::Mul(dy, by_step),
          hn::Neg(hn::Mul(hn::IfThenZeroElse(inside, dy), step))};
}

// Calls body(i, load, store) for vectors, the last of which may be short.
template <class Body>
HWY_INLINE void ForVectors(std::size_t n, const Body& body) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    body([&](const float* p) { return hn::LoadU(d, p + i); },
         [&](V v, float* p) { hn::StoreU(v, d, p + i); });
  if (i == n) return;
  alignas(64) float rest[hn::MaxLanes(D())];
  body(
      [&](const float* p) {
        std::fill_n(rest, lanes, 0.0F);
        std::copy_n(p + i, n - i, rest);
        return hn::Load(d, rest);
      },
      [&](V v, float* p) {
        hn::Store(v, d, rest);
        std::copy_n(rest, n - i, p + i);
      });
}

void FakeQuantize(const FakeQuantization& as, const float* x, std::size_t n, float step, float* out) {
  const D d;
  const V scale = hn::Set(d, step), low = hn::Set(d, as.low), high = hn::Set(d, as.high);
  ForVectors(n, [&](const auto& load, const auto& store) {
    store(hn::Mul(Round(load(x), scale, low, high).held, scale), out);
  });
}

StepGradient FakeQuantizeGradient(const FakeQuantization& as, const float* x, const float* dy, std::size_t n,
                                  float step, float* dx) {
  const D d;
  const V scale = hn::Set(d, step), low = hn::Set(d, as.low), high = hn::Set(d, as.high);
  StepGradient sums;
  for (std::size_t first = 0; first < n; first += kRun) {
    V steps = hn::Zero(d), zero_points = hn::Zero(d);
    ForVectors(std::min(kRun, n - first), [&](const auto& load, const auto& store) {
      const FakeTerms terms = Gradient(Round(load(x + first), scale, low, high), load(dy + first), scale);
      store(terms.dx, dx + first);
      steps = hn::Add(steps, terms.step);
      zero_points = hn::Add(zero_points, terms.zero_point);
    });
    sums.step += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, steps)));
    sums.zero_point += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, zero_points)));
  }
  return sums;
}

void FakeQuantizeEach(const float* low, const float* high, const float* x, std::size_t n, const float* step,
                      float* out) {
  ForVectors(n, [&](const auto& load, const auto& store) {
    // The lanes after a short vector divide by zero; they are not stored.
    const V scale = load(step);
    store(hn::Mul(Round(load(x), scale, load(low), load(high)).held, scale), out);
  });
}

void FakeQuantizeGradientEach(const float* low, const float* high, const float* x, const float* dy,
                              std::size_t n, const float* step, float* dx, float* steps, float* zero_points) {
  ForVectors(n, [&](const auto& load, const auto& store) {
    const V scale = load(step);
    const FakeTerms terms = Gradient(Round(load(x), scale, load(low), load(high)), load(dy), scale);
    store(terms.dx, dx);
    store(hn::Add(load(steps), terms.step), steps);
    store(hn::Add(load(zero_points), terms.zero_point), zero_points);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

HWY_EXPORT(FakeQuantize);
HWY_EXPORT(FakeQuantizeGradient);
HWY_EXPORT(FakeQuantizeEach);
HWY_EXPORT(FakeQuantizeGradientEach);

void fake_quantize(const FakeQuantization& as, const float* x, std::int64_t n, float step, float* out) {
  HWY_DYNAMIC_DISPATCH(FakeQuantize)(as, x, static_cast<std::size_t>(n), step, out);
}

StepGradient fake_quantize_gradient(const FakeQuantization& as, const float* x, const float* dy,
                                    std::int64_t n, float step, float* dx) {
  return HWY_DYNAMIC_DISPATCH(FakeQuantizeGradient)(as, x, dy, static_cast<std::size_t>(n), step, dx);
}

void fake_quantize_each(const float* low, const float* high, const float* x, std::int64_t n,
                        const float* step, float* out) {
  HWY_DYNAMIC_DISPATCH(FakeQuantizeEach)(low, high, x, static_cast<std::size_t>(n), step, out);
}

void fake_quantize_gradient_each(const float* low, const float* high, const float* x, const float* dy,
                                 std::int64_t n, const float* step, float* dx, float* steps,
                                 float* zero_points) {
  HWY_DYNAMIC_DISPATCH(FakeQuantizeGradientEach)
  (low, high, x, dy, static_cast<std::size_t>(n), step, dx, steps, zero_points);
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
