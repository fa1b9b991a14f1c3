// AVX-512, too: exponentials take twice as long with half as wide vectors.
#undef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_AVX3_DL)

#include <cstring>
#include <limits>

#include "kernels/choose.hpp"
#include "kernels/reduce/softmax.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/softmax_simd.cpp"
#include "base/math.hpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/elementwise/float_math-inl.h"

#ifndef ANYBIT_KERNELS_SOFTMAX_ONCE_
#define ANYBIT_KERNELS_SOFTMAX_ONCE_
namespace anybit::kernels {
struct SoftmaxWork {
  const float* x;
  std::size_t rows, n;
  bool log;
  float* y;
};
struct ColumnSoftmaxWork {
  const float* x;
  std::size_t n, stride, columns;
  bool log;
  float* y;
};
}  // namespace anybit::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;

// Loads up to a vector of floats, padded with zeros.
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

// e^x for x ≤ 0, the only case once the maximum is subtracted; zero below the normal numbers. NaN stays.
HWY_INLINE VF ExpOfNegative(VF x) {
  constexpr float kFit[] = {0.499999934f, 0.166665206f, 0.0416683881f, 0.00836871709f, 0.00138145964f};
  const DF d;
  const VF n = hn::Round(hn::Mul(x, hn::Set(d, 1.44269504f)));
  VF r = hn::NegMulAdd(n, hn::Set(d, 0.693359375f), x);
  r = hn::NegMulAdd(n, hn::Set(d, -2.12194440e-4f), r);
  const VF p = hn::MulAdd(float_math::Polynomial(r, kFit), hn::Mul(r, r), hn::Add(r, hn::Set(d, 1.0f)));
  const VF result = hn::Mul(p, float_math::PowerOfTwo(hn::ConvertTo(float_math::DI(), n)));
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, -87.0f)), result);
}

// NaN may be ignored here: it makes the sum NaN.
HWY_INLINE float Largest(const float* x, std::size_t n) {
  const DF d;
  const std::size_t lanes = hn::Lanes(d);
  VF a = hn::Set(d, -std::numeric_limits<float>::infinity()), b = a;
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    a = hn::Max(a, hn::LoadU(d, x + i));
    b = hn::Max(b, hn::LoadU(d, x + i + lanes));
  }
  float largest = hn::GetLane(hn::MaxOfLanes(d, hn::Max(a, b)));
  for (; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

// Σ e^(x - top). The terms are written to y unless it is null.
HWY_INLINE float SumOfExp(const float* x, std::size_t n, VF top, float* y) {
  const DF d;
  const std::size_t lanes = hn::Lanes(d);
  VF a = hn::Zero(d), b = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    const VF first = ExpOfNegative(hn::Sub(hn::LoadU(d, x + i), top));
    const VF second = ExpOfNegative(hn::Sub(hn::LoadU(d, x + i + lanes), top));
    a = hn::Add(a, first);
    b = hn::Add(b, second);
    if (y) {
      hn::StoreU(first, d, y + i);
      hn::StoreU(second, d, y + i + lanes);
    }
  }
  for (; i < n; i += lanes) {
    const std::size_t width = HWY_MIN(lanes, n - i);
    VF e = ExpOfNegative(hn::Sub(LoadColumns(x + i, width), top));
    if (width < lanes) e = hn::IfThenElseZero(hn::FirstN(d, width), e);
    a = hn::Add(a, e);
    if (y) StoreColumns(e, width, y + i);
  }
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b)));
}

HWY_INLINE void SoftmaxRow(const float* x, std::size_t n, bool log, float* y) {
  const DF d;
  const std::size_t lanes = hn::Lanes(d);
  const VF top = hn::Set(d, Largest(x, n));
  const float sum = SumOfExp(x, n, top, log ? nullptr : y);
  const VF last = hn::Set(d, log ? math::log(sum) : 1.0f / sum);
  const float* from = log ? x : y;
  const auto finished = [&](VF v)
                            HWY_ATTR { return log ? hn::Sub(hn::Sub(v, top), last) : hn::Mul(v, last); };
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(finished(hn::LoadU(d, from + i)), d, y + i);
  if (i < n) StoreColumns(finished(LoadColumns(from + i, n - i)), n - i, y + i);
}

void SoftmaxRows(const SoftmaxWork& work) {
  for (std::size_t row = 0; row < work.rows; ++row)
    SoftmaxRow(work.x + row * work.n, work.n, work.log, work.y + row * work.n);
}

// kVectors adjacent vectors of columns, so that full cache lines are used; only a single one may be narrower
// than a vector.
template <std::size_t kVectors>
HWY_INLINE void SoftmaxColumn(const float* x, std::size_t n, std::size_t stride, std::size_t width, bool log,
                              float* y) {
  const DF d;
  const std::size_t lanes = hn::Lanes(d);
  VF top[kVectors], sum[kVectors];
  for (std::size_t v = 0; v < kVectors; ++v) {
    top[v] = LoadColumns(x + v * lanes, width);
    sum[v] = hn::Zero(d);
  }
  for (std::size_t i = 1; i < n; ++i) {
    for (std::size_t v = 0; v < kVectors; ++v)
      top[v] = hn::Max(top[v], LoadColumns(x + i * stride + v * lanes, width));
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      const std::size_t at = i * stride + v * lanes;
      const VF e = ExpOfNegative(hn::Sub(LoadColumns(x + at, width), top[v]));
      sum[v] = hn::Add(sum[v], e);
      if (!log) StoreColumns(e, width, y + at);
    }
  }
  for (std::size_t v = 0; v < kVectors; ++v) {
    sum[v] = log ? float_math::Log(sum[v]) : hn::Div(hn::Set(d, 1.0f), sum[v]);
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      const std::size_t at = i * stride + v * lanes;
      const VF result = log ? hn::Sub(hn::Sub(LoadColumns(x + at, width), top[v]), sum[v])
                            : hn::Mul(LoadColumns(y + at, width), sum[v]);
      StoreColumns(result, width, y + at);
    }
  }
}

void SoftmaxColumns(const ColumnSoftmaxWork& work) {
  const float* x = work.x;
  const std::size_t n = work.n, stride = work.stride, columns = work.columns;
  const bool log = work.log;
  float* y = work.y;
  constexpr std::size_t kVectors = 4;
  const std::size_t lanes = hn::Lanes(DF());
  if (n == 0) return;
  std::size_t column = 0;
  for (; column + kVectors * lanes <= columns; column += kVectors * lanes) {
    SoftmaxColumn<kVectors>(x + column, n, stride, lanes, log, y + column);
  }
  for (; column < columns; column += lanes) {
    SoftmaxColumn<1>(x + column, n, stride, HWY_MIN(lanes, columns - column), log, y + column);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

std::span<const Descriptor> softmax_simd_descriptors() {
  using enum Instructions;
  static const Descriptor all[] = {
      {"16 lanes", "float32", "", avx512, false, 0, RowSoftmax{HWY_CHOOSE_AVX3(SoftmaxRows)}},
      {"vectors", "float32", "", avx2, false, 0, RowSoftmax{HWY_CHOOSE_AVX2(SoftmaxRows)}},
      {"vectors", "float32", "", baseline, true, 0, RowSoftmax{HWY_STATIC_DISPATCH(SoftmaxRows)}},
      {"16 lanes", "float32", "", avx512, false, 0, ColumnSoftmax{HWY_CHOOSE_AVX3(SoftmaxColumns)}},
      {"vectors", "float32", "", avx2, false, 0, ColumnSoftmax{HWY_CHOOSE_AVX2(SoftmaxColumns)}},
      {"vectors", "float32", "", baseline, true, 0, ColumnSoftmax{HWY_STATIC_DISPATCH(SoftmaxColumns)}},
  };
  return all;
}

void softmax_rows(const float* x, std::size_t rows, std::size_t n, bool log, float* y) {
  const SoftmaxWork work{x, rows, n, log, y};
  choose<RowSoftmax>(work).run(work);
}
void softmax_columns(const float* x, std::size_t n, std::size_t stride, std::size_t columns, bool log,
                     float* y) {
  const ColumnSoftmaxWork work{x, n, stride, columns, log, y};
  choose<ColumnSoftmax>(work).run(work);
}

}  // namespace anybit::kernels
#endif
