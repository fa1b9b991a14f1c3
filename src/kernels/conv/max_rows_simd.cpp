#include "kernels/conv/max_rows.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/max_rows_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef ANYBIT_KERNELS_MAX_ROWS_ONCE_
#define ANYBIT_KERNELS_MAX_ROWS_ONCE_
namespace anybit::kernels {
// The output rows [first, last) of one map.
struct MaxRowsWork {
  const PoolSizes& sizes;
  const float* x;  // the map
  std::int64_t first, last;
  float* y;  // the map's result
  // Memory: a row with its padding, which is -∞; addresses of the window's rows; their taps by output.
  float* line;
  const float** rows;
  std::span<const Range> depths, heights;
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

// False if there may be a NaN: infinities times zero are NaN, too.
HWY_INLINE bool AllNumbers(const float* x, std::int64_t n) {
  const DF d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  const VF zero = hn::Zero(d);
  VF even = zero, odd = zero;
  std::int64_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    even = hn::MulAdd(hn::LoadU(d, x + i), zero, even);
    odd = hn::MulAdd(hn::LoadU(d, x + i + lanes), zero, odd);
  }
  float rest = 0;
  for (; i < n; ++i) rest += x[i] * 0;
  return rest == 0 && hn::AllTrue(d, hn::Eq(hn::Add(even, odd), zero));
}

// to[i] = the largest of at(k)[i] for k < count, which is `Count` if that is not 0. The last vector may
// overlap the one before.
template <bool Numbers, int Count, class At>
HWY_INLINE void LargestOf(std::int64_t count, std::int64_t n, float* HWY_RESTRICT to, const At& at) {
  const DF d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  if constexpr (Count > 0) count = Count;
  if (n < lanes) {
    for (std::int64_t i = 0; i < n; ++i) {
      float most = at(0)[i];
      for (std::int64_t k = 1; k < count; ++k) most = LargerOne(most, at(k)[i]);
      to[i] = most;
    }
    return;
  }
  for (std::int64_t first = 0; first < n; first += lanes) {
    const std::int64_t i = std::min(first, n - lanes);
    VF most = hn::LoadU(d, at(0) + i);
    HWY_UNROLL(4)
    for (std::int64_t k = 1; k < count; ++k) most = Larger<Numbers>(most, hn::LoadU(d, at(k) + i));
    hn::StoreU(most, d, to + i);
  }
}

template <bool Numbers, class At>
HWY_INLINE void Largest(std::int64_t count, std::int64_t n, float* HWY_RESTRICT to, const At& at) {
  if (count == 2) return LargestOf<Numbers, 2>(count, n, to, at);
  if (count == 3) return LargestOf<Numbers, 3>(count, n, to, at);
  if (count == 5) return LargestOf<Numbers, 5>(count, n, to, at);
  LargestOf<Numbers, 0>(count, n, to, at);
}

// to[i] = the largest of line[2 i + k · step] for k < count; reads one element behind the last.
template <bool Numbers>
HWY_INLINE void LargestOfEven(std::int64_t count, std::int64_t step, std::int64_t n, const float* line,
                              float* HWY_RESTRICT to) {
#if HWY_TARGET != HWY_SCALAR
  const DF d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t first = 0; n >= lanes && first < n; first += lanes) {
    const std::int64_t i = std::min(first, n - lanes);
    const auto even = [&](const float* from) HWY_ATTR {
      return hn::ConcatEven(d, hn::LoadU(d, from + lanes), hn::LoadU(d, from));
    };
    VF most = even(line + 2 * i);
    std::int64_t k = 1;
    if (step == 1 && count >= 2) {  // the second tap is in the same vectors
      const float* from = line + 2 * i;
      most = Larger<Numbers>(most, hn::ConcatOdd(d, hn::LoadU(d, from + lanes), hn::LoadU(d, from)));
      k = 2;
    }
    for (; k < count; ++k) most = Larger<Numbers>(most, even(line + k * step + 2 * i));
    hn::StoreU(most, d, to + i);
  }
  if (n >= lanes) return;
#endif
  for (std::int64_t i = 0; i < n; ++i) {
    float most = line[2 * i];
    for (std::int64_t k = 1; k < count; ++k) most = LargerOne(most, line[k * step + 2 * i]);
    to[i] = most;
  }
}

// Along the row, from the line with the largest values of its columns.
template <bool Numbers>
HWY_INLINE void AlongRow(const WindowAxis& axis, std::int64_t lanes, const float* line,
                         float* HWY_RESTRICT out) {
  const std::int64_t step = axis.dilation * lanes;
  if (axis.stride == 1) {
    Largest<Numbers>(axis.kernel, axis.output * lanes, out,
                     [=](std::int64_t k) HWY_ATTR { return line + k * step; });
  } else if (axis.stride == 2 && lanes == 1) {
    LargestOfEven<Numbers>(axis.kernel, step, axis.output, line, out);
  } else {
    for (std::int64_t o = 0; o < axis.output; ++o) {
      const float* from = line + o * axis.stride * lanes;
      Largest<Numbers>(axis.kernel, lanes, out + o * lanes,
                       [=](std::int64_t k) HWY_ATTR { return from + k * step; });
    }
  }
}

template <bool Numbers>
HWY_INLINE void Rows(const MaxRowsWork& work) {
  const auto& [d, h, w] = work.sizes.window;
  const std::int64_t lanes = work.sizes.lanes, row = w.input * lanes, h_output = h.output;
  float* const inside = work.line + w.before * lanes;
  const float** const rows = work.rows;
  for (std::int64_t o = work.first; o < work.last; ++o) {
    const std::int64_t od = o / h_output, oh = o % h_output;
    const Range depth = work.depths[static_cast<std::size_t>(od)];
    const Range height = work.heights[static_cast<std::size_t>(oh)];
    std::int64_t count = 0;
    for (std::int64_t kd = depth.first; kd < depth.last; ++kd) {
      const float* plane = work.x + (start_of(d, od) + kd * d.dilation) * h.input * row;
      for (std::int64_t kh = height.first; kh < height.last; ++kh)
        rows[count++] = plane + (start_of(h, oh) + kh * h.dilation) * row;
    }
    if (count == 0) {
      std::fill_n(inside, row, -std::numeric_limits<float>::infinity());
    } else {
      Largest<Numbers>(count, row, inside, [rows](std::int64_t k) HWY_ATTR { return rows[k]; });
    }
    AlongRow<Numbers>(w, lanes, work.line, work.y + o * w.output * lanes);
  }
}

// NaN is looked for once, in all rows that the windows reach.
void MaxRows(const MaxRowsWork& work) {
  const auto& [d, h, w] = work.sizes.window;
  std::int64_t from = 0, until = d.input * h.input;
  if (d.output == 1 && d.input == 1) {
    from = std::clamp<std::int64_t>(start_of(h, work.first), 0, h.input);
    until =
        std::clamp<std::int64_t>(start_of(h, work.last - 1) + (h.kernel - 1) * h.dilation + 1, from, h.input);
  }
  const std::int64_t row = w.input * work.sizes.lanes;
  AllNumbers(work.x + from * row, (until - from) * row) ? Rows<true>(work) : Rows<false>(work);
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

HWY_EXPORT(MaxRows);

namespace {

// Floats of a row with its padding; one more is read.
std::int64_t max_line_size(const WindowAxis& axis, std::int64_t lanes) {
  const std::int64_t read = (axis.output - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1;
  return (std::max(axis.before + axis.input, read) + 1) * lanes;
}

// The taps of every output of an axis: for short rows, finding them anew would take as long as the maxima.
void find_taps(const WindowAxis& axis, std::vector<Range>& taps) {
  taps.resize(static_cast<std::size_t>(axis.output));
  for (std::size_t o = 0; o < taps.size(); ++o) taps[o] = taps_inside(axis, static_cast<std::int64_t>(o));
}

}  // namespace

bool max_pool_fits_rows(const PoolSizes& sizes) {
  const WindowAxis& w = sizes.window[2];
  const auto is_small = [](const WindowAxis& axis) {
    return axis.before >= 0 && axis.output > 0 && axis.before <= axis.input + 64 &&
           axis.kernel <= axis.input + 64;
  };
  return std::ranges::all_of(sizes.window, is_small) && max_line_size(w, 1) <= 4 * w.input + 256;
}

void max_pool_rows(const PoolSizes& sizes, const float* x, std::int64_t first, std::int64_t last, float* y) {
  const auto& [d, h, w] = sizes.window;
  const std::int64_t lanes = sizes.lanes, rows_of_map = h.output * d.output;
  thread_local std::vector<float> line;
  thread_local std::vector<const float*> rows;
  thread_local std::vector<Range> depths, heights;
  line.assign(static_cast<std::size_t>(max_line_size(w, lanes)), -std::numeric_limits<float>::infinity());
  rows.resize(static_cast<std::size_t>(d.kernel * h.kernel));
  find_taps(d, depths);
  find_taps(h, heights);
  while (first < last) {
    const std::int64_t map = first / rows_of_map, end = std::min(last, (map + 1) * rows_of_map);
    const MaxRowsWork work{sizes,
                           x + map * input_size(sizes.window) * lanes,
                           first - map * rows_of_map,
                           end - map * rows_of_map,
                           y + map * rows_of_map * w.output * lanes,
                           line.data(),
                           rows.data(),
                           depths,
                           heights};
    HWY_DYNAMIC_DISPATCH(MaxRows)(work);
    first = end;
  }
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
