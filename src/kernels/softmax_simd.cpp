#include <cmath>
#include <cstring>

#include "kernels/reduce.hpp"
#include "kernels/softmax.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/softmax_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/float_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;

// y = body(x); what is left at the end is followed by `padding`.
template <class Body>
HWY_INLINE void EachVector(const float* x, std::size_t n, float padding, float* y, const Body& body) {
  const DF d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(body(hn::LoadU(d, x + i)), d, y + i);
  if (i == n) return;
  HWY_ALIGN float buffer[hn::MaxLanes(d)];
  hn::Store(hn::Set(d, padding), d, buffer);
  std::memcpy(buffer, x + i, (n - i) * sizeof(float));
  hn::Store(body(hn::Load(d, buffer)), d, buffer);
  std::memcpy(y + i, buffer, (n - i) * sizeof(float));
}

HWY_INLINE void SoftmaxRow(const float* x, std::size_t n, float largest, bool log, float* y) {
  const DF d;
  const VF top = hn::Set(d, largest);
  VF sums = hn::Zero(d);
  const auto add = [&](VF v) HWY_ATTR {
    const VF e = float_math::Exp(hn::Sub(v, top));
    sums = hn::Add(sums, e);
    return e;
  };
  // What pads the last vector adds nothing to the sum.
  const float nothing = -std::numeric_limits<float>::infinity();
  if (log) {
    HWY_ALIGN float unused[hn::MaxLanes(d)];
    const std::size_t lanes = hn::Lanes(d);
    for (std::size_t i = 0; i < n; i += lanes) {
      EachVector(x + i, HWY_MIN(lanes, n - i), nothing, unused, add);
    }
    const VF rest = hn::Set(d, std::log(hn::GetLane(hn::SumOfLanes(d, sums))));
    EachVector(x, n, 0, y, [&](VF v) HWY_ATTR { return hn::Sub(hn::Sub(v, top), rest); });
    return;
  }
  EachVector(x, n, nothing, y, add);
  const VF inverse = hn::Set(d, 1.0f / hn::GetLane(hn::SumOfLanes(d, sums)));
  EachVector(y, n, 0, y, [&](VF v) HWY_ATTR { return hn::Mul(v, inverse); });
}

void SoftmaxRows(const float* x, std::size_t rows, std::size_t n, bool log, float* y) {
  for (std::size_t row = 0; row < rows; ++row) {
    SoftmaxRow(x + row * n, n, row_max(x + row * n, n), log, y + row * n);
  }
}

// Up to a vector of floats; what is not there is zero.
HWY_INLINE VF LoadColumns(const float* x, std::size_t width) {
  const DF d;
  if (width == hn::Lanes(d)) return hn::LoadU(d, x);
  HWY_ALIGN float buffer[hn::MaxLanes(d)] = {};
  std::memcpy(buffer, x, width * sizeof(float));
  return hn::Load(d, buffer);
}
HWY_INLINE void StoreColumns(VF v, std::size_t width, float* y) {
  const DF d;
  if (width == hn::Lanes(d)) return hn::StoreU(v, d, y);
  HWY_ALIGN float buffer[hn::MaxLanes(d)];
  hn::Store(v, d, buffer);
  std::memcpy(y, buffer, width * sizeof(float));
}

HWY_INLINE void SoftmaxColumn(const float* x, std::size_t n, std::size_t stride, std::size_t width, bool log,
                              float* y) {
  const DF d;
  VF top = LoadColumns(x, width);
  for (std::size_t i = 1; i < n; ++i) {
    const VF v = LoadColumns(x + i * stride, width);
    top = hn::IfThenElse(hn::Or(hn::Gt(v, top), hn::IsNaN(v)), v, top);
  }
  VF sum = hn::Zero(d);
  for (std::size_t i = 0; i < n; ++i) {
    const VF e = float_math::Exp(hn::Sub(LoadColumns(x + i * stride, width), top));
    sum = hn::Add(sum, e);
    if (!log) StoreColumns(e, width, y + i * stride);
  }
  if (!log) {
    const VF inverse = hn::Div(hn::Set(d, 1.0f), sum);
    for (std::size_t i = 0; i < n; ++i) {
      StoreColumns(hn::Mul(LoadColumns(y + i * stride, width), inverse), width, y + i * stride);
    }
    return;
  }
  HWY_ALIGN float sums[hn::MaxLanes(d)];
  hn::Store(sum, d, sums);
  for (std::size_t lane = 0; lane < hn::Lanes(d); ++lane) sums[lane] = std::log(sums[lane]);
  const VF rest = hn::Load(d, sums);
  for (std::size_t i = 0; i < n; ++i) {
    StoreColumns(hn::Sub(hn::Sub(LoadColumns(x + i * stride, width), top), rest), width, y + i * stride);
  }
}

void SoftmaxColumns(const float* x, std::size_t n, std::size_t stride, std::size_t columns, bool log,
                    float* y) {
  const std::size_t lanes = hn::Lanes(DF());
  if (n == 0) return;
  for (std::size_t column = 0; column < columns; column += lanes) {
    SoftmaxColumn(x + column, n, stride, HWY_MIN(lanes, columns - column), log, y + column);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

HWY_EXPORT(SoftmaxRows);
HWY_EXPORT(SoftmaxColumns);

void softmax_rows(const float* x, std::size_t rows, std::size_t n, bool log, float* y) {
  HWY_DYNAMIC_DISPATCH(SoftmaxRows)(x, rows, n, log, y);
}
void softmax_columns(const float* x, std::size_t n, std::size_t stride, std::size_t columns, bool log,
                     float* y) {
  HWY_DYNAMIC_DISPATCH(SoftmaxColumns)(x, n, stride, columns, log, y);
}

}  // namespace anybit::kernels
#endif
