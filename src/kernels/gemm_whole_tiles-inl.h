// Tiles of integer products and what becomes of their sums, included once for each SIMD target. Numbers are
// widened to 16 bits and multiplied in pairs into 32-bit sums: exact, unlike the 8-bit instructions that
// saturate.
#if defined(ANYBIT_KERNELS_GEMM_WHOLE_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ANYBIT_KERNELS_GEMM_WHOLE_TILES_INL_H_
#undef ANYBIT_KERNELS_GEMM_WHOLE_TILES_INL_H_
#else
#define ANYBIT_KERNELS_GEMM_WHOLE_TILES_INL_H_
#endif

#include <cmath>
#include <utility>

#include "kernels/gemm_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

using VI = hn::Vec<DI>;

// A tile of `Rows` rows. `b` has pairs of rows: [count][16][2]. Sums wrap.
#if HWY_TARGET == HWY_SCALAR
template <int Rows, class B>
HWY_NOINLINE void WholeTile(const std::int16_t* HWY_RESTRICT a, std::int64_t stride, const B* HWY_RESTRICT b,
                            std::int64_t pairs, std::int32_t* HWY_RESTRICT sums, bool first) {
  if (first) std::fill(sums, sums + Rows * kPanel, 0);
  for (std::int64_t k = 0; k < pairs; ++k) {
    for (std::int64_t i = 0; i < Rows * kPanel; ++i) {
      const std::int16_t* x = a + i / kPanel * stride + 2 * k;
      const B* y = b + (k * kPanel + i % kPanel) * 2;
      sums[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[i]) +
                                          static_cast<std::uint32_t>(x[0] * y[0] + x[1] * y[1]));
    }
  }
}
#else
using DH = hn::Repartition<std::int16_t, DI>;
using VH = hn::Vec<DH>;

HWY_INLINE VH LoadPairs(const std::int16_t* from) { return hn::LoadU(DH(), from); }
HWY_INLINE VH LoadPairs(const std::int8_t* from) {
  return hn::PromoteTo(DH(), hn::LoadU(hn::Rebind<std::int8_t, DH>(), from));
}

template <int Rows, class B>
HWY_NOINLINE void WholeTile(const std::int16_t* HWY_RESTRICT a, std::int64_t stride, const B* HWY_RESTRICT b,
                            std::int64_t pairs, std::int32_t* HWY_RESTRICT sums, bool first) {
  const DI d;
  VI sum[Rows][kVectors], more[Rows][kVectors];  // x86 leaves the second at zero, and it goes away
  HWY_UNROLL(16)
  for (int r = 0; r < Rows; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sum[r][v] = more[r][v] = hn::Zero(d);
  }
  for (std::int64_t k = 0; k < pairs; ++k) {
    VH row[kVectors];
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) row[v] = LoadPairs(b + k * 2 * kPanel + v * 2 * kLanes);
    HWY_UNROLL(16)
    for (int r = 0; r < Rows; ++r) {
      std::int32_t pair;
      std::memcpy(&pair, a + r * stride + 2 * k, sizeof(pair));
      const VH x = hn::BitCast(DH(), hn::Set(d, pair));
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        sum[r][v] = hn::ReorderWidenMulAccumulate(d, x, row[v], sum[r][v], more[r][v]);
        ANYBIT_PIN(sum[r][v]);
      }
    }
  }
  HWY_UNROLL(16)
  for (int r = 0; r < Rows; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      std::int32_t* to = sums + r * kPanel + v * kLanes;
      const VI all = hn::RearrangeToOddPlusEven(sum[r][v], more[r][v]);
      hn::Store(first ? all : hn::Add(all, hn::Load(d, to)), d, to);
    }
  }
}
#endif

template <class B, int... Rows>
HWY_INLINE auto WholeTileOf(int rows, std::integer_sequence<int, Rows...>) {
  using Tile = void (*)(const std::int16_t*, std::int64_t, const B*, std::int64_t, std::int32_t*, bool);
  static constexpr Tile all[] = {WholeTile<Rows + 1, B>...};
  return all[rows - 1];
}

template <class B>
HWY_INLINE void MultiplyWholes(int rows, const std::int16_t* a, std::int64_t stride, const B* b,
                               std::int64_t count, std::int32_t* sums, bool first) {
  WholeTileOf<B>(rows, std::make_integer_sequence<int, kTileRows>())(a, stride, b, (count + 1) / 2, sums,
                                                                     first);
}

// Rows of A less their zero points as 16-bit numbers; an odd count is padded with a zero.
template <class T>
HWY_INLINE void WidenRow(const T* from, std::int64_t step, std::int64_t count, std::int32_t zero,
                         std::int16_t* HWY_RESTRICT to) {
  const auto less = static_cast<std::int16_t>(zero);
  if (step == 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<std::int16_t>(from[i] - less);
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<std::int16_t>(from[i * step] - less);
  }
  if (count % 2 != 0) to[count] = 0;
}

// A row of 16 sums becomes what the epilogue says.
class WholeFinish {
 public:
  explicit WholeFinish(const WholeProduct& product)
      : product_(product),
        e_(product.epilogue),
        low_(static_cast<float>(e_.low - e_.zero_point)),
        high_(static_cast<float>(e_.high - e_.zero_point)) {}

  HWY_INLINE void Row(const std::int32_t* sums, std::int64_t row, std::int64_t column) const {
    const DI d;
    const DF df;
    const std::int64_t columns = std::min(kPanel, product_.n - column);
    HWY_ALIGN std::int32_t bias_buffer[kPanel], whole[kPanel];
    HWY_ALIGN float scale_buffer[kPanel], addend_buffer[kPanel], real[kPanel];
    const std::int32_t* bias = e_.bias.data ? SpreadRow(e_.bias, row, column, columns, bias_buffer) : nullptr;
    const auto sum = [&](int v) HWY_ATTR {
      const VI s = hn::Load(d, sums + v * kLanes);
      return bias ? hn::Add(s, hn::LoadU(d, bias + v * kLanes)) : s;
    };
    if (e_.type == WholeResult::int32) {
      for (int v = 0; v < kVectors; ++v) hn::Store(sum(v), d, whole + v * kLanes);
      return Put<std::int32_t>(whole, row, column, columns);
    }
    const float* scale = SpreadRow(e_.scale, row, column, columns, scale_buffer);
    const auto scaled = [&](int v) HWY_ATTR {
      return hn::Mul(hn::ConvertTo(df, sum(v)), hn::LoadU(df, scale + v * kLanes));
    };
    if (e_.type == WholeResult::float32) {
      const float* addend =
          e_.addend.data ? SpreadRow(e_.addend, row, column, columns, addend_buffer) : nullptr;
      for (int v = 0; v < kVectors; ++v) {
        const auto x = scaled(v);
        hn::Store(addend ? hn::Add(x, hn::LoadU(df, addend + v * kLanes)) : x, df, real + v * kLanes);
      }
      return Put<float>(real, row, column, columns);
    }
    const auto low = hn::Set(df, low_), high = hn::Set(df, high_);
    for (int v = 0; v < kVectors; ++v) {
      // The bounds are whole numbers: clamping before rounding is clamping after it, and cannot overflow.
      const VI q = hn::NearestInt(hn::Min(hn::Max(scaled(v), low), high));
      hn::Store(hn::Add(q, hn::Set(d, e_.zero_point)), d, whole + v * kLanes);
    }
    PutCodes(whole, row, column, columns);
  }

  // The same for sums beyond 32 bits.
  void Wide(const std::int64_t* sums, std::int64_t row, std::int64_t column) const {
    const std::int64_t columns = std::min(kPanel, product_.n - column);
    std::int32_t bias_buffer[kPanel], whole[kPanel];
    float scale_buffer[kPanel], addend_buffer[kPanel], real[kPanel];
    const std::int32_t* bias = e_.bias.data ? SpreadRow(e_.bias, row, column, columns, bias_buffer) : nullptr;
    const float* scale = e_.scale.data ? SpreadRow(e_.scale, row, column, columns, scale_buffer) : nullptr;
    const float* addend =
        e_.addend.data ? SpreadRow(e_.addend, row, column, columns, addend_buffer) : nullptr;
    for (std::int64_t i = 0; i < columns; ++i) {
      const std::int64_t sum = sums[i] + (bias ? bias[i] : 0);
      whole[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum));
      if (!scale) continue;
      real[i] = static_cast<float>(sum) * scale[i];
      whole[i] = static_cast<std::int32_t>(std::nearbyint(std::min(std::max(real[i], low_), high_)));
      whole[i] += e_.zero_point;
      if (addend) real[i] += addend[i];
    }
    if (e_.type == WholeResult::int32) return Put<std::int32_t>(whole, row, column, columns);
    if (e_.type == WholeResult::float32) return Put<float>(real, row, column, columns);
    PutCodes(whole, row, column, columns);
  }

 private:
  HWY_INLINE void PutCodes(const std::int32_t* whole, std::int64_t row, std::int64_t column,
                           std::int64_t columns) const {
    switch (e_.type) {
      case WholeResult::int8:
        return Put<std::int8_t>(whole, row, column, columns);
      case WholeResult::uint8:
        return Put<std::uint8_t>(whole, row, column, columns);
      case WholeResult::int16:
        return Put<std::int16_t>(whole, row, column, columns);
      default:
        return Put<std::uint16_t>(whole, row, column, columns);
    }
  }
  template <class T, class From>
  HWY_INLINE void Put(const From* from, std::int64_t row, std::int64_t column, std::int64_t columns) const {
    T* to = static_cast<T*>(product_.c) + row * product_.c_stride + column;
    if (columns == kPanel) {
      for (std::int64_t i = 0; i < kPanel; ++i) to[i] = static_cast<T>(from[i]);
    } else {
      for (std::int64_t i = 0; i < columns; ++i) to[i] = static_cast<T>(from[i]);
    }
  }

  const WholeProduct& product_;
  const WholeEpilogue& e_;
  float low_, high_;
};

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
