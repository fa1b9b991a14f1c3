#include "kernels/reduce/norm.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/norm_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void NormalizeRow(const float* x, std::size_t n, float mean, float inverse, const float* scale,
                  const float* shift, float* y) {
  const hn::ScalableTag<float> d;
  const auto center = hn::Set(d, mean), factor = hn::Set(d, inverse);
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    auto v = hn::Mul(hn::Sub(hn::LoadU(d, x + i), center), factor);
    if (scale) v = hn::Mul(v, hn::LoadU(d, scale + i));
    if (shift) v = hn::Add(v, hn::LoadU(d, shift + i));
    hn::StoreU(v, d, y + i);
  }
  for (; i < n; ++i) {
    float v = (x[i] - mean) * inverse;
    if (scale) v *= scale[i];
    if (shift) v += shift[i];
    y[i] = v;
  }
}

void ScaleRow(const float* x, std::size_t n, float scale, float shift, float* y) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, scale), offset = hn::Set(d, shift);
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::Add(hn::Mul(hn::LoadU(d, x + i), factor), offset), d, y + i);
  }
  for (; i < n; ++i) y[i] = x[i] * scale + shift;
}

void AddRow(const float* x, std::size_t n, float* y) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Add(hn::LoadU(d, y + i), hn::LoadU(d, x + i)), d, y + i);
  for (; i < n; ++i) y[i] += x[i];
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

HWY_EXPORT(NormalizeRow);
HWY_EXPORT(ScaleRow);
HWY_EXPORT(AddRow);

void normalize_row(const float* x, std::size_t n, float mean, float inverse, const float* scale,
                   const float* shift, float* y) {
  HWY_DYNAMIC_DISPATCH(NormalizeRow)(x, n, mean, inverse, scale, shift, y);
}
void scale_row(const float* x, std::size_t n, float scale, float shift, float* y) {
  HWY_DYNAMIC_DISPATCH(ScaleRow)(x, n, scale, shift, y);
}
void add_row(const float* x, std::size_t n, float* y) { HWY_DYNAMIC_DISPATCH(AddRow)(x, n, y); }

}  // namespace anybit::kernels
#endif
