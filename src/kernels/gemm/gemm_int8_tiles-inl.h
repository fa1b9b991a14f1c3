// Micro-kernels and epilogue of integer GEMM, included once for each SIMD target. Values are widened to 16
// bits and multiplied in pairs into 32-bit sums: exact, unlike the 8-bit instructions that saturate.
#if defined(ANYBIT_KERNELS_GEMM_INT8_TILES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ANYBIT_KERNELS_GEMM_INT8_TILES_INL_H_
#undef ANYBIT_KERNELS_GEMM_INT8_TILES_INL_H_
#else
#define ANYBIT_KERNELS_GEMM_INT8_TILES_INL_H_
#endif

#include <cmath>
#include <utility>

#include "kernels/elementwise/store_bytes-inl.h"
#include "kernels/gemm/gemm_blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

using VI = hn::Vec<DI>;

inline constexpr int kHalfVectors = kVectors > 1 ? kVectors / 2 : 1;

// A tile of `Rows` rows and the first `Used` vectors of its columns. `b` holds pairs of rows: [count][16][2].
// Sums wrap.
#if HWY_TARGET == HWY_SCALAR
template <int Rows, class B, int Used = kVectors>
HWY_NOINLINE void IntegerTile(const std::int16_t* HWY_RESTRICT a, std::int64_t stride,
                              const B* HWY_RESTRICT b, std::int64_t pairs, std::int32_t* HWY_RESTRICT sums,
                              std::int64_t sum_stride, bool first) {
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
void IntegerStrip(const std::int16_t* a, const std::int8_t* b, std::int64_t pairs, std::int32_t* sums) {
  for (int p = 0; p < Panels; ++p)
    IntegerTile<1>(a, 0, b + p * pairs * 2 * kPanel, pairs, sums + p * kPanel, kPanel, true);
}
#else
using DH = hn::Repartition<std::int16_t, DI>;
using VH = hn::Vec<DH>;

HWY_INLINE VH LoadPairs(const std::int16_t* from) { return hn::LoadU(DH(), from); }
HWY_INLINE VH LoadPairs(const std::int8_t* from) {
  return hn::PromoteTo(DH(), hn::LoadU(hn::Rebind<std::int8_t, DH>(), from));
}

constexpr std::int64_t kAhead = 256;  // prefetch distance, in pairs of rows of B

// g++ 12 adds into another register and moves the sum back, which is a third of the loop's instructions.
HWY_INLINE void AddPairs(VH a, VH b, VI& sum, VI& more) {
#if HWY_TARGET == HWY_AVX2 && defined(__GNUC__)
  static_cast<void>(more);
  asm("vpaddd %1, %0, %0" : "+x"(sum.raw) : "x"(_mm256_madd_epi16(a.raw, b.raw)));
#else
  sum = hn::ReorderWidenMulAccumulate(DI(), a, b, sum, more);
#endif
}

template <int Rows, class B, int Used = kVectors>
HWY_NOINLINE void IntegerTile(const std::int16_t* HWY_RESTRICT a, std::int64_t stride,
                              const B* HWY_RESTRICT b, std::int64_t pairs, std::int32_t* HWY_RESTRICT sums,
                              std::int64_t sum_stride, bool first) {
  const DI d;
  VI sum[Rows][Used], more[Rows][Used];  // the second stays zero on x86 and is optimized away
  HWY_UNROLL(16)
  for (int r = 0; r < Rows; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < Used; ++v) sum[r][v] = more[r][v] = hn::Zero(d);
  }
  for (std::int64_t k = 0; k < pairs; ++k) {
    if (Rows <= 4) __builtin_prefetch(b + (k + kAhead) * 2 * kPanel);  // bound by memory
    VH row[Used];
    HWY_UNROLL(4)
    for (int v = 0; v < Used; ++v) row[v] = LoadPairs(b + k * 2 * kPanel + v * 2 * kLanes);
    HWY_UNROLL(16)
    for (int r = 0; r < Rows; ++r) {
      std::int32_t pair;
      std::memcpy(&pair, a + r * stride + 2 * k, sizeof(pair));
      const VH x = hn::BitCast(DH(), hn::Set(d, pair));
      HWY_UNROLL(4)
      for (int v = 0; v < Used; ++v) {
        AddPairs(x, row[v], sum[r][v], more[r][v]);
      }
    }
  }
  HWY_UNROLL(16)
  for (int r = 0; r < Rows; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < Used; ++v) {
      std::int32_t* to = sums + r * sum_stride + v * kLanes;
      const VI all = hn::RearrangeToOddPlusEven(sum[r][v], more[r][v]);
      hn::StoreU(first ? all : hn::Add(all, hn::LoadU(d, to)), d, to);
    }
  }
}

// One row by several panels of `pairs` pairs each: bound by memory, which serves several streams at once.
template <int Panels>
HWY_NOINLINE void IntegerStrip(const std::int16_t* HWY_RESTRICT a, const std::int8_t* HWY_RESTRICT b,
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

template <int Used, class B, int... Rows>
HWY_INLINE auto IntegerTileOf(int rows, std::integer_sequence<int, Rows...>) {
  using Tile =
      void (*)(const std::int16_t*, std::int64_t, const B*, std::int64_t, std::int32_t*, std::int64_t, bool);
  static constexpr Tile all[] = {IntegerTile<Rows + 1, B, Used>...};
  return all[rows - 1];
}

template <int Used = kVectors, class B>
HWY_INLINE void MultiplyIntegers(int rows, const std::int16_t* a, std::int64_t stride, const B* b,
                                 std::int64_t count, std::int32_t* sums, std::int64_t sum_stride,
                                 bool first) {
  const auto tile = IntegerTileOf<Used, B>(rows, std::make_integer_sequence<int, kTileRows>());
  tile(a, stride, b, (count + 1) / 2, sums, sum_stride, first);
}

// Widens a row of A to 16 bits, zero point subtracted; an odd count is padded with a zero.
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

// The epilogue for rows of 16 sums.
class IntegerFinish {
 public:
  // `column_sums` of B: not null if A still has its zero points (by row). Their contribution, zero point ·
  // column sum, is then subtracted here. `shift` is an offset that was added to A beyond its zero points.
  explicit IntegerFinish(const IntegerGemmWork& work, const std::int64_t* column_sums = nullptr,
                         std::int32_t shift = 0)
      : work_(work),
        e_(work.epilogue),
        column_sums_(column_sums),
        shift_(shift),
        low_(static_cast<float>(e_.low - e_.zero_point)),
        high_(static_cast<float>(e_.high - e_.zero_point)),
        by_row_(e_.bias.row_stride != 0 || e_.scale.row_stride != 0 || e_.addend.row_stride != 0 ||
                (column_sums && work.a_zero.row_stride != 0)) {
    if (by_row_) return;
    Pad(e_.bias, biases_);
    Pad(e_.scale, scales_);
    Pad(e_.addend, addends_);
  }

  // A sum is an int32; or a float with its bias included, for sums beyond 32 bits.
  template <class Sum>
  HWY_INLINE void Tile(const Sum* sums, std::int64_t row, int rows, std::int64_t column) const {
    switch (e_.type) {
      case IntegerResult::int32:
        return TileAs<std::int32_t>(sums, row, rows, column);
      case IntegerResult::float32:
        return TileAs<float>(sums, row, rows, column);
      case IntegerResult::int8:
        return TileAs<std::int8_t>(sums, row, rows, column);
      case IntegerResult::uint8:
        return TileAs<std::uint8_t>(sums, row, rows, column);
      case IntegerResult::int16:
        return TileAs<std::int16_t>(sums, row, rows, column);
      case IntegerResult::uint16:
        return TileAs<std::uint16_t>(sums, row, rows, column);
    }
  }

 private:
  template <class T, class Sum>
  HWY_INLINE void TileAs(const Sum* sums, std::int64_t row, int rows, std::int64_t column) const {
    const std::int64_t columns = std::min(kPanel, work_.n - column);
    HWY_ALIGN T tail[kTileRows * kPanel];
    T* to = static_cast<T*>(work_.c) + row * work_.c_stride + column;
    T* at = columns == kPanel ? to : tail;
    const std::int64_t stride = columns == kPanel ? work_.c_stride : kPanel;
    if (!by_row_) {
      Rows(sums, row, rows, column, columns, at, stride);
    } else {
      for (int r = 0; r < rows; ++r)
        Rows(sums + r * kPanel, row + r, 1, column, columns, at + r * stride, stride);
    }
    if (at == to) return;
    if (columns == kPanel / 2) {  // a common case: memcpy of a known size is inlined
      for (int r = 0; r < rows; ++r)
        std::memcpy(to + r * work_.c_stride, tail + r * kPanel, kPanel / 2 * sizeof(T));
    } else {
      for (int r = 0; r < rows; ++r) {
        std::memcpy(to + r * work_.c_stride, tail + r * kPanel,
                    static_cast<std::size_t>(columns) * sizeof(T));
      }
    }
  }

  // Rows with the same bias and scales.
  template <class T, class Sum>
  HWY_NOINLINE void Rows(const Sum* HWY_RESTRICT sums, std::int64_t row, int rows, std::int64_t column,
                         std::int64_t columns, T* HWY_RESTRICT to, std::int64_t stride) const {
    HWY_ALIGN std::int32_t own_biases[kPanel];
    HWY_ALIGN float own_scales[kPanel], own_addends[kPanel];
    const std::int32_t* bias = Biases(row, column, columns, own_biases);
    const float* scale = Find(e_.scale, scales_, row, column, columns, own_scales);
    const float* addend = Find(e_.addend, addends_, row, column, columns, own_addends);
    const DI d;
    const DF df;
#if HWY_TARGET == HWY_AVX2
    if constexpr (sizeof(T) == 1) {
      const VI bias0 = hn::LoadU(d, bias), bias1 = hn::LoadU(d, bias + kLanes);
      const auto scale0 = hn::LoadU(df, scale), scale1 = hn::LoadU(df, scale + kLanes);
      const bool all = e_.low == std::numeric_limits<T>::min() && e_.high == std::numeric_limits<T>::max();
      for (int r = 0; r < rows; ++r) {
        const Sum* of_row = sums + r * kPanel;
        const auto one = hn::Mul(Real(of_row, bias0), scale0);
        const auto two = hn::Mul(Real(of_row + kLanes, bias1), scale1);
        if (all) {
          StoreReordered(RoundForBytes(one, two, e_.zero_point), to + r * stride);
        } else {
          StoreBytes(d, Code(one), Code(two), to + r * stride);
        }
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
        const Sum* of_row = sums + r * kPanel + v * kLanes;
        if constexpr (std::is_same_v<T, std::int32_t>) {
          if constexpr (std::is_same_v<Sum, std::int32_t>)
            hn::StoreU(hn::Add(hn::Load(d, of_row), bias_v), d, here);
        } else {
          const auto scaled = hn::Mul(Real(of_row, bias_v), scale_v);
          if constexpr (std::is_same_v<T, float>) {
            hn::StoreU(hn::Add(scaled, addend_v), df, here);
          } else {
            const hn::Rebind<T, DI> narrow;
            hn::StoreU(hn::DemoteTo(narrow, Code(scaled)), narrow, here);
          }
        }
      }
    }
  }

  static HWY_INLINE hn::Vec<DF> Real(const std::int32_t* sums, VI bias) {
    return hn::ConvertTo(DF(), hn::Add(hn::Load(DI(), sums), bias));
  }
  static HWY_INLINE hn::Vec<DF> Real(const float* sums, VI) { return hn::Load(DF(), sums); }

  // The bounds are integers, so clamping before rounding is equal to clamping after it. Adding 1.5·2²³ rounds
  // half to even and leaves the integer in the low bits.
  HWY_INLINE VI Code(hn::Vec<DF> x) const {
    const DI d;
    const DF df;
    const auto clamped = hn::Min(hn::Max(x, hn::Set(df, low_)), hn::Set(df, high_));
    const auto rounded = hn::Add(clamped, hn::Set(df, 12582912.0f));
    return hn::Sub(hn::BitCast(d, rounded), hn::Set(d, 0x4B400000 - e_.zero_point));
  }

  // Pads operands that are the same for all columns, or those of the last panel if it is partial.
  template <class T>
  void Pad(const Spread<T>& spread, T* to) const {
    const std::int64_t column = (work_.n - 1) / kPanel * kPanel;
    if (spread.data) SpreadRow(spread, 0, column, work_.n - column, to);
  }
  template <class T>
  HWY_INLINE const T* Find(const Spread<T>& spread, const T* padded, std::int64_t row, std::int64_t column,
                           std::int64_t columns, T* buffer) const {
    if (!spread.data) return padded;  // zeros
    if (by_row_) return SpreadRow(spread, row, column, columns, buffer);
    return spread.column_stride != 0 && columns == kPanel ? spread.data + column : padded;
  }

  HWY_INLINE const std::int32_t* Biases(std::int64_t row, std::int64_t column, std::int64_t columns,
                                        std::int32_t* buffer) const {
    const std::int32_t* bias = Find(e_.bias, biases_, row, column, columns, buffer);
    if (!column_sums_) return bias;
    const Spread<std::int32_t>& zeros = work_.a_zero;
    const auto zero =
        static_cast<std::uint32_t>((zeros.data ? zeros.data[row * zeros.row_stride] : 0) + shift_);
    for (std::int64_t i = 0; i < kPanel; ++i) {
      const auto of_column = static_cast<std::uint32_t>(column_sums_[column + i]);
      buffer[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(bias[i]) - zero * of_column);
    }
    return buffer;
  }

  const IntegerGemmWork& work_;
  const IntegerEpilogue& e_;
  const std::int64_t* column_sums_;
  const std::int32_t shift_;
  const float low_, high_;
  const bool by_row_;  // bias or scales differ by row
  HWY_ALIGN std::int32_t biases_[kPanel] = {};
  HWY_ALIGN float scales_[kPanel] = {}, addends_[kPanel] = {};
};

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
