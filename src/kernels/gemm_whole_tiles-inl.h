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
#include "kernels/store_bytes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

using VI = hn::Vec<DI>;

// A tile of `Rows` rows. `b` has pairs of rows: [count][16][2]. Sums wrap.
#if HWY_TARGET == HWY_SCALAR
template <int Rows, class B>
HWY_NOINLINE void WholeTile(const std::int16_t* HWY_RESTRICT a, std::int64_t stride, const B* HWY_RESTRICT b,
                            std::int64_t pairs, std::int32_t* HWY_RESTRICT sums, std::int64_t sum_stride,
                            bool first) {
  for (std::int64_t i = 0; i < Rows * kPanel; ++i) {
    std::int32_t& to = sums[i / kPanel * sum_stride + i % kPanel];
    auto sum = static_cast<std::uint32_t>(first ? 0 : to);
    for (std::int64_t k = 0; k < pairs; ++k) {
      const std::int16_t* x = a + i / kPanel * stride + 2 * k;
      const B* y = b + (k * kPanel + i % kPanel) * 2;
      sum += static_cast<std::uint32_t>(x[0] * y[0] + x[1] * y[1]);
    }
    to = static_cast<std::int32_t>(sum);
  }
}

template <int Panels>
void WholeStrip(const std::int16_t* a, const std::int8_t* b, std::int64_t pairs, std::int32_t* sums) {
  for (int p = 0; p < Panels; ++p)
    WholeTile<1>(a, 0, b + p * pairs * 2 * kPanel, pairs, sums + p * kPanel, kPanel, true);
}
#else
using DH = hn::Repartition<std::int16_t, DI>;
using VH = hn::Vec<DH>;

HWY_INLINE VH LoadPairs(const std::int16_t* from) { return hn::LoadU(DH(), from); }
HWY_INLINE VH LoadPairs(const std::int8_t* from) {
  return hn::PromoteTo(DH(), hn::LoadU(hn::Rebind<std::int8_t, DH>(), from));
}

constexpr std::int64_t kAhead = 256;  // pairs of rows of B

// g++ 12 adds into another register and moves the sum back, which makes a third of the loop's instructions.
HWY_INLINE void AddPairs(VH a, VH b, VI& sum, VI& more) {
#if HWY_TARGET == HWY_AVX2 && defined(__GNUC__)
  static_cast<void>(more);
  asm("vpaddd %1, %0, %0" : "+x"(sum.raw) : "x"(_mm256_madd_epi16(a.raw, b.raw)));
#else
  sum = hn::ReorderWidenMulAccumulate(DI(), a, b, sum, more);
#endif
}

template <int Rows, class B>
HWY_NOINLINE void WholeTile(const std::int16_t* HWY_RESTRICT a, std::int64_t stride, const B* HWY_RESTRICT b,
                            std::int64_t pairs, std::int32_t* HWY_RESTRICT sums, std::int64_t sum_stride,
                            bool first) {
  const DI d;
  VI sum[Rows][kVectors], more[Rows][kVectors];  // x86 leaves the second at zero, and it goes away
  HWY_UNROLL(16)
  for (int r = 0; r < Rows; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sum[r][v] = more[r][v] = hn::Zero(d);
  }
  for (std::int64_t k = 0; k < pairs; ++k) {
    if (Rows <= 4) __builtin_prefetch(b + (k + kAhead) * 2 * kPanel);  // memory is what takes time
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
        AddPairs(x, row[v], sum[r][v], more[r][v]);
      }
    }
  }
  HWY_UNROLL(16)
  for (int r = 0; r < Rows; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      std::int32_t* to = sums + r * sum_stride + v * kLanes;
      const VI all = hn::RearrangeToOddPlusEven(sum[r][v], more[r][v]);
      hn::StoreU(first ? all : hn::Add(all, hn::LoadU(d, to)), d, to);
    }
  }
}

// One row by several panels of `pairs` pairs each: memory is what takes time, and answers several requests at
// once.
template <int Panels>
HWY_NOINLINE void WholeStrip(const std::int16_t* HWY_RESTRICT a, const std::int8_t* HWY_RESTRICT b,
                             std::int64_t pairs, std::int32_t* HWY_RESTRICT sums) {
  const DI d;
  VI sum[Panels][kVectors], more[Panels][kVectors];
  HWY_UNROLL(4)
  for (int p = 0; p < Panels; ++p) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) sum[p][v] = more[p][v] = hn::Zero(d);
  }
  for (std::int64_t k = 0; k < pairs; ++k) {
    std::int32_t pair;
    std::memcpy(&pair, a + 2 * k, sizeof(pair));
    const VH x = hn::BitCast(DH(), hn::Set(d, pair));
    HWY_UNROLL(4)
    for (int p = 0; p < Panels; ++p) {
      const std::int8_t* row = b + (p * pairs + k) * 2 * kPanel;
      __builtin_prefetch(row + kAhead * 2 * kPanel);
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) AddPairs(x, LoadPairs(row + v * 2 * kLanes), sum[p][v], more[p][v]);
    }
  }
  HWY_UNROLL(4)
  for (int p = 0; p < Panels; ++p) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(hn::RearrangeToOddPlusEven(sum[p][v], more[p][v]), d, sums + p * kPanel + v * kLanes);
    }
  }
}
#endif

template <class B, int... Rows>
HWY_INLINE auto WholeTileOf(int rows, std::integer_sequence<int, Rows...>) {
  using Tile =
      void (*)(const std::int16_t*, std::int64_t, const B*, std::int64_t, std::int32_t*, std::int64_t, bool);
  static constexpr Tile all[] = {WholeTile<Rows + 1, B>...};
  return all[rows - 1];
}

template <class B>
HWY_INLINE void MultiplyWholes(int rows, const std::int16_t* a, std::int64_t stride, const B* b,
                               std::int64_t count, std::int32_t* sums, std::int64_t sum_stride, bool first) {
  WholeTileOf<B>(rows, std::make_integer_sequence<int, kTileRows>())(a, stride, b, (count + 1) / 2, sums,
                                                                     sum_stride, first);
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
        high_(static_cast<float>(e_.high - e_.zero_point)),
        by_row_(e_.bias.row_stride != 0 || e_.scale.row_stride != 0 || e_.addend.row_stride != 0) {}

  HWY_INLINE void Tile(const std::int32_t* sums, std::int64_t row, int rows, std::int64_t column) const {
    switch (e_.type) {
      case WholeResult::int32:
        return TileAs<std::int32_t>(sums, row, rows, column);
      case WholeResult::float32:
        return TileAs<float>(sums, row, rows, column);
      case WholeResult::int8:
        return TileAs<std::int8_t>(sums, row, rows, column);
      case WholeResult::uint8:
        return TileAs<std::uint8_t>(sums, row, rows, column);
      case WholeResult::int16:
        return TileAs<std::int16_t>(sums, row, rows, column);
      case WholeResult::uint16:
        return TileAs<std::uint16_t>(sums, row, rows, column);
    }
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
  template <class T>
  HWY_INLINE void TileAs(const std::int32_t* sums, std::int64_t row, int rows, std::int64_t column) const {
    const std::int64_t columns = std::min(kPanel, product_.n - column);
    HWY_ALIGN T tail[kTileRows * kPanel];
    T* to = static_cast<T*>(product_.c) + row * product_.c_stride + column;
    T* at = columns == kPanel ? to : tail;
    const std::int64_t stride = columns == kPanel ? product_.c_stride : kPanel;
    if (!by_row_) {
      Rows(sums, row, rows, column, columns, at, stride);
    } else {
      for (int r = 0; r < rows; ++r)
        Rows(sums + r * kPanel, row + r, 1, column, columns, at + r * stride, stride);
    }
    for (int r = 0; r < rows && at != to; ++r) {
      std::memcpy(to + r * product_.c_stride, tail + r * kPanel,
                  static_cast<std::size_t>(columns) * sizeof(T));
    }
  }

  // Rows that have the same bias and scales.
  template <class T>
  HWY_NOINLINE void Rows(const std::int32_t* HWY_RESTRICT sums, std::int64_t row, int rows,
                         std::int64_t column, std::int64_t columns, T* HWY_RESTRICT to,
                         std::int64_t stride) const {
    const DI d;
    const DF df;
    HWY_ALIGN std::int32_t biases[kPanel] = {};
    HWY_ALIGN float scales[kPanel], addends[kPanel] = {};
    const std::int32_t* bias = e_.bias.data ? SpreadRow(e_.bias, row, column, columns, biases) : biases;
    const float* scale = e_.scale.data ? SpreadRow(e_.scale, row, column, columns, scales) : addends;
    const float* addend = e_.addend.data ? SpreadRow(e_.addend, row, column, columns, addends) : addends;
#if HWY_TARGET == HWY_AVX2
    if constexpr (sizeof(T) == 1) {
      const VI bias0 = hn::LoadU(d, bias), bias1 = hn::LoadU(d, bias + kLanes);
      const auto scale0 = hn::LoadU(df, scale), scale1 = hn::LoadU(df, scale + kLanes);
      for (int r = 0; r < rows; ++r) {
        const std::int32_t* of_row = sums + r * kPanel;
        const VI one = Code(hn::Add(hn::Load(d, of_row), bias0), scale0);
        const VI two = Code(hn::Add(hn::Load(d, of_row + kLanes), bias1), scale1);
        StoreBytes(d, one, two, to + r * stride);
      }
      return;
    }
#endif
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) {
      const VI bias_v = hn::LoadU(d, bias + v * kLanes);
      const auto scale_v = hn::LoadU(df, scale + v * kLanes), addend_v = hn::LoadU(df, addend + v * kLanes);
      for (int r = 0; r < rows; ++r) {
        T* here = to + r * stride + v * kLanes;
        const VI sum = hn::Add(hn::Load(d, sums + r * kPanel + v * kLanes), bias_v);
        if constexpr (std::is_same_v<T, std::int32_t>) {
          hn::StoreU(sum, d, here);
        } else if constexpr (std::is_same_v<T, float>) {
          hn::StoreU(hn::Add(hn::Mul(hn::ConvertTo(df, sum), scale_v), addend_v), df, here);
        } else {
          const hn::Rebind<T, DI> narrow;
          hn::StoreU(hn::DemoteTo(narrow, Code(sum, scale_v)), narrow, here);
        }
      }
    }
  }

  // The bounds are whole numbers: clamping before rounding is clamping after it. Adding 1.5·2²³ rounds half
  // to even, and leaves the whole number in the low bits.
  HWY_INLINE VI Code(VI sum, hn::Vec<DF> scale) const {
    const DI d;
    const DF df;
    const auto x = hn::Mul(hn::ConvertTo(df, sum), scale);
    const auto clamped = hn::Min(hn::Max(x, hn::Set(df, low_)), hn::Set(df, high_));
    const auto rounded = hn::Add(clamped, hn::Set(df, 12582912.0f));
    return hn::Sub(hn::BitCast(d, rounded), hn::Set(d, 0x4B400000 - e_.zero_point));
  }

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
  const float low_, high_;
  const bool by_row_;  // bias or scales differ from row to row
};

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
