#include <cstring>

#include "kernels/gates.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gates_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/exp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class Body>
HWY_INLINE void Each(float* x, std::size_t n, const Body& body) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(body(d, hn::LoadU(d, x + i)), d, x + i);
  if (i == n) return;
  HWY_ALIGN float buffer[hn::MaxLanes(d)] = {};
  std::memcpy(buffer, x + i, (n - i) * sizeof(float));
  hn::Store(body(d, hn::Load(d, buffer)), d, buffer);
  std::memcpy(x + i, buffer, (n - i) * sizeof(float));
}

void SigmoidRow(float* x, std::size_t n) {
  Each(x, n, [](auto d, auto v) HWY_ATTR { return SigmoidOf(d, v); });
}
void TanhRow(float* x, std::size_t n) {
  Each(x, n, [](auto d, auto v) HWY_ATTR { return TanhOf(d, v); });
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

HWY_EXPORT(SigmoidRow);
HWY_EXPORT(TanhRow);

void sigmoid_row(float* x, std::size_t n) { HWY_DYNAMIC_DISPATCH(SigmoidRow)(x, n); }
void tanh_row(float* x, std::size_t n) { HWY_DYNAMIC_DISPATCH(TanhRow)(x, n); }

}  // namespace anybit::kernels
#endif
