#include "kernels/conv/max_rows.hpp"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/max_rows_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef ANYBIT_KERNELS_MAX_ROWS_ONCE_
#define ANYBIT_KERNELS_MAX_ROWS_ONCE_
namespace anybit::kernels {
struct MaxRowWork {
  std::span<const float* const> rows;
  const WindowAxis& axis;
  std::int64_t lanes;
  float *line, *out;
};
}  // namespace anybit::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;

// `Numbers`: there is no NaN among the values. The instruction for the maximum loses one of two NaN.
template <bool Numbers>
HWY_INLINE VF Larger(VF most, VF value) {
  if constexpr (Numbers) return hn::Max(most, value);
  return hn::IfThenElse(hn::Or(hn::Gt(value, most), hn::IsNaN(value)), value, most);
}
HWY_INLINE float LargerOne(float most, float value) { return value > most || value != value ? value : most; }

// to[i] = the largest of at(k)[i] for k < count. The last vector may overlap the one before. With a probe,
// returns false if the values may have a NaN: infinities times zero are NaN, too.
template <bool Numbers, bool Probe = false, class At>
HWY_INLINE bool Largest(std::int64_t count, std::int64_t n, float* to, const At& at) {
  const DF d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if (n < lanes) {
    for (std::int64_t i = 0; i < n; ++i) {
      float most = at(0)[i];
      for (std::int64_t k = 1; k < count; ++k) most = LargerOne(most, at(k)[i]);
      to[i] = most;
    }
    return false;
  }
  const VF zero = hn::Zero(d);
  VF probe = zero;
  for (std::int64_t first = 0; first < n; first += lanes) {
    const std::int64_t i = std::min(first, n - lanes);
    VF most = hn::LoadU(d, at(0) + i);
    if constexpr (Probe) probe = hn::MulAdd(most, zero, probe);
    for (std::int64_t k = 1; k < count; ++k) {
      const VF value = hn::LoadU(d, at(k) + i);
      if constexpr (Probe) probe = hn::MulAdd(value, zero, probe);
      most = Larger<Numbers>(most, value);
    }
    hn::StoreU(most, d, to + i);
  }
  return Probe && hn::AllTrue(d, hn::Eq(probe, zero));
}

// The same for every second element of at(k); reads one element behind the last.
template <bool Numbers, class At>
HWY_INLINE void LargestOfEven(std::int64_t count, std::int64_t n, float* to, const At& at) {
#if HWY_TARGET != HWY_SCALAR
  const DF d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const auto even = [&](const float* from) HWY_ATTR {
    return hn::ConcatEven(d, hn::LoadU(d, from + lanes), hn::LoadU(d, from));
  };
  for (std::int64_t first = 0; n >= lanes && first < n; first += lanes) {
    const std::int64_t i = std::min(first, n - lanes);
    VF most = even(at(0) + 2 * i);
    for (std::int64_t k = 1; k < count; ++k) most = Larger<Numbers>(most, even(at(k) + 2 * i));
    hn::StoreU(most, d, to + i);
  }
  if (n >= lanes) return;
#endif
  for (std::int64_t i = 0; i < n; ++i) {
    float most = at(0)[2 * i];
    for (std::int64_t k = 1; k < count; ++k) most = LargerOne(most, at(k)[2 * i]);
    to[i] = most;
  }
}

// Along the row, from the line with the largest values of its columns.
template <bool Numbers>
HWY_INLINE void AlongRow(const MaxRowWork& work) {
  const WindowAxis& axis = work.axis;
  const std::int64_t lanes = work.lanes, step = axis.dilation * lanes;
  const float* line = work.line;
  const auto tap = [=](std::int64_t k) HWY_ATTR { return line + k * step; };
  if (axis.stride == 1) {
    Largest<Numbers>(axis.kernel, axis.output * lanes, work.out, tap);
  } else if (axis.stride == 2 && lanes == 1) {
    LargestOfEven<Numbers>(axis.kernel, axis.output, work.out, tap);
  } else {
    for (std::int64_t o = 0; o < axis.output; ++o) {
      const float* from = line + o * axis.stride * lanes;
      Largest<Numbers>(axis.kernel, lanes, work.out + o * lanes,
                       [=](std::int64_t k) HWY_ATTR { return from + k * step; });
    }
  }
}

void MaxRow(const MaxRowWork& work) {
  const std::int64_t n = work.axis.input * work.lanes;
  float* inside = work.line + work.axis.before * work.lanes;
  const auto row = [rows = work.rows.data()](std::int64_t k) HWY_ATTR { return rows[k]; };
  const auto count = static_cast<std::int64_t>(work.rows.size());
  if (work.rows.empty()) {
    std::fill_n(inside, n, -std::numeric_limits<float>::infinity());
    return AlongRow<true>(work);
  }
  if (Largest<true, true>(count, n, inside, row)) return AlongRow<true>(work);
  Largest<false>(count, n, inside, row);
  AlongRow<false>(work);
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

HWY_EXPORT(MaxRow);

std::int64_t max_line_size(const WindowAxis& axis, std::int64_t lanes) {
  const std::int64_t read = (axis.output - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1;
  return (std::max(axis.before + axis.input, read) + 1) * lanes;
}

void max_row(std::span<const float* const> rows, const WindowAxis& axis, std::int64_t lanes, float* line,
             float* out) {
  const MaxRowWork work{rows, axis, lanes, line, out};
  HWY_DYNAMIC_DISPATCH(MaxRow)(work);
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
