#include <cstring>
#include <limits>

#include "kernels/reduce/reduce.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/reduce/reduce_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;

constexpr std::size_t kBlock = 2048;  // values of a row that are summed in float
constexpr std::size_t kRows = 128;    // the same for a column

struct Element {
  HWY_INLINE VF operator()(VF sum, VF x) const { return hn::Add(sum, x); }
  float operator()(float x) const { return x; }
};
struct Magnitude {
  HWY_INLINE VF operator()(VF sum, VF x) const { return hn::Add(sum, hn::Abs(x)); }
  float operator()(float x) const { return x < 0 ? -x : x; }
};
struct Square {
  HWY_INLINE VF operator()(VF sum, VF x) const { return hn::MulAdd(x, x, sum); }
  float operator()(float x) const { return x * x; }
};
struct Deviation {
  float center;
  HWY_INLINE VF operator()(VF sum, VF x) const {
    const VF away = hn::Sub(x, hn::Set(DF(), center));
    return hn::MulAdd(away, away, sum);
  }
  float operator()(float x) const { return (x - center) * (x - center); }
};

// Four accumulators, to hide latency.
template <class Add>
HWY_INLINE float BlockSum(const Add& add, const float* x, std::size_t n) {
  const DF d;
  const std::size_t lanes = hn::Lanes(d);
  VF a = hn::Zero(d), b = hn::Zero(d), c = hn::Zero(d), e = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a = add(a, hn::LoadU(d, x + i));
    b = add(b, hn::LoadU(d, x + i + lanes));
    c = add(c, hn::LoadU(d, x + i + 2 * lanes));
    e = add(e, hn::LoadU(d, x + i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) a = add(a, hn::LoadU(d, x + i));
  float sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e))));
  for (; i < n; ++i) sum += add(x[i]);
  return sum;
}

template <class Add>
HWY_INLINE double Sum(const Add& add, const float* x, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; i += kBlock) {
    sum += static_cast<double>(BlockSum(add, x + i, HWY_MIN(kBlock, n - i)));
  }
  return sum;
}

double RowSum(Summand what, const float* x, std::size_t n) {
  switch (what) {
    case Summand::value:
      return Sum(Element(), x, n);
    case Summand::magnitude:
      return Sum(Magnitude(), x, n);
    case Summand::square:
      return Sum(Square(), x, n);
  }
  return 0;
}

double RowDeviation(const float* x, std::size_t n, float center) { return Sum(Deviation{center}, x, n); }

// max(low, x), or min; NaN is sticky.
template <bool Largest>
struct Extreme {
  static constexpr float kNone =
      Largest ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  HWY_INLINE VF operator()(VF best, VF x) const {
    const VF better = Largest ? hn::Max(best, x) : hn::Min(best, x);
    return hn::IfThenElse(hn::IsNaN(x), x, hn::IfThenElse(hn::IsNaN(best), best, better));
  }
  float operator()(float best, float x) const {
    if (best != best || x != x) return best != best ? best : x;
    return (Largest ? x > best : x < best) ? x : best;
  }
};

template <bool Largest>
HWY_INLINE float RowExtreme(const float* x, std::size_t n) {
  const DF d;
  const Extreme<Largest> fold;
  const std::size_t lanes = hn::Lanes(d);
  VF a = hn::Set(d, fold.kNone), b = a;
  std::size_t i = 0;
  for (; i + 2 * lanes <= n; i += 2 * lanes) {
    a = fold(a, hn::LoadU(d, x + i));
    b = fold(b, hn::LoadU(d, x + i + lanes));
  }
  HWY_ALIGN float held[hn::MaxLanes(d)];
  hn::Store(fold(a, b), d, held);
  float best = fold.kNone;
  for (std::size_t lane = 0; lane < lanes; ++lane) best = fold(best, held[lane]);
  for (; i < n; ++i) best = fold(best, x[i]);
  return best;
}
float RowMax(const float* x, std::size_t n) { return RowExtreme<true>(x, n); }
float RowMin(const float* x, std::size_t n) { return RowExtreme<false>(x, n); }

// Loads fewer values than a vector has lanes, padded with zeros.
HWY_INLINE VF LoadSome(const float* x, std::size_t n) {
  const DF d;
  HWY_ALIGN float buffer[hn::MaxLanes(d)] = {};
  std::memcpy(buffer, x, n * sizeof(float));
  return hn::Load(d, buffer);
}

template <class Add>
HWY_INLINE void ColumnSum(const Add& add, const float* x, std::size_t rows, std::size_t stride,
                          std::size_t columns, double* sums) {
  const DF d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t column = 0; column < columns; column += lanes) {
    const std::size_t width = HWY_MIN(lanes, columns - column);
    for (std::size_t i = 0; i < width; ++i) sums[column + i] = 0;
    for (std::size_t first = 0; first < rows; first += kRows) {
      const float* at = x + first * stride + column;
      const std::size_t count = HWY_MIN(kRows, rows - first);
      VF a = hn::Zero(d), b = hn::Zero(d);
      std::size_t row = 0;
      if (width == lanes) {
        for (; row + 2 <= count; row += 2) {
          a = add(a, hn::LoadU(d, at + row * stride));
          b = add(b, hn::LoadU(d, at + (row + 1) * stride));
        }
        for (; row < count; ++row) a = add(a, hn::LoadU(d, at + row * stride));
      } else {
        for (; row < count; ++row) a = add(a, LoadSome(at + row * stride, width));
      }
      HWY_ALIGN float held[hn::MaxLanes(d)];
      hn::Store(hn::Add(a, b), d, held);
      for (std::size_t i = 0; i < width; ++i) sums[column + i] += static_cast<double>(held[i]);
    }
  }
}

void ColumnSums(Summand what, const float* x, std::size_t rows, std::size_t stride, std::size_t columns,
                double* sums) {
  switch (what) {
    case Summand::value:
      return ColumnSum(Element(), x, rows, stride, columns, sums);
    case Summand::magnitude:
      return ColumnSum(Magnitude(), x, rows, stride, columns, sums);
    case Summand::square:
      return ColumnSum(Square(), x, rows, stride, columns, sums);
  }
}

template <bool Largest>
HWY_INLINE void ColumnExtreme(const float* x, std::size_t rows, std::size_t stride, std::size_t columns,
                              float* best) {
  const DF d;
  const Extreme<Largest> fold;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t column = 0;
  for (; column + lanes <= columns; column += lanes) {
    VF held = hn::Set(d, fold.kNone);
    for (std::size_t row = 0; row < rows; ++row) held = fold(held, hn::LoadU(d, x + row * stride + column));
    hn::StoreU(held, d, best + column);
  }
  for (; column < columns; ++column) {
    best[column] = fold.kNone;
    for (std::size_t row = 0; row < rows; ++row) best[column] = fold(best[column], x[row * stride + column]);
  }
}
void ColumnMax(const float* x, std::size_t rows, std::size_t stride, std::size_t columns, float* best) {
  ColumnExtreme<true>(x, rows, stride, columns, best);
}
void ColumnMin(const float* x, std::size_t rows, std::size_t stride, std::size_t columns, float* best) {
  ColumnExtreme<false>(x, rows, stride, columns, best);
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

HWY_EXPORT(RowSum);
HWY_EXPORT(RowDeviation);
HWY_EXPORT(RowMax);
HWY_EXPORT(RowMin);
HWY_EXPORT(ColumnSums);
HWY_EXPORT(ColumnMax);
HWY_EXPORT(ColumnMin);

double row_sum(Summand what, const float* x, std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(RowSum)(what, x, n);
}
double row_deviation(const float* x, std::size_t n, float center) {
  return HWY_DYNAMIC_DISPATCH(RowDeviation)(x, n, center);
}
float row_max(const float* x, std::size_t n) { return HWY_DYNAMIC_DISPATCH(RowMax)(x, n); }
float row_min(const float* x, std::size_t n) { return HWY_DYNAMIC_DISPATCH(RowMin)(x, n); }
void column_sums(Summand what, const float* x, std::size_t rows, std::size_t stride, std::size_t columns,
                 double* sums) {
  HWY_DYNAMIC_DISPATCH(ColumnSums)(what, x, rows, stride, columns, sums);
}
void column_max(const float* x, std::size_t rows, std::size_t stride, std::size_t columns, float* largest) {
  HWY_DYNAMIC_DISPATCH(ColumnMax)(x, rows, stride, columns, largest);
}
void column_min(const float* x, std::size_t rows, std::size_t stride, std::size_t columns, float* smallest) {
  HWY_DYNAMIC_DISPATCH(ColumnMin)(x, rows, stride, columns, smallest);
}

}  // namespace anybit::kernels
#endif
