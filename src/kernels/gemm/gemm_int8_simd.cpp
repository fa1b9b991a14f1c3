// Exact integer GEMM. Sums have 32 bits while they fit, otherwise 64: 16-bit by 8-bit products fit 32 bits
// for a k of 500 at least, 16-bit by 16-bit products always use 64.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm_int8_simd.cpp"
#include "hwy/foreach_target.h"
#include "kernels/gemm/gemm_int8_tiles-inl.h"

#ifndef ANYBIT_KERNELS_GEMM_INT8_ONCE_
#define ANYBIT_KERNELS_GEMM_INT8_ONCE_
namespace anybit::kernels {
// A GEMM whose sums may need 64 bits.
struct Int64GemmWork : IntegerGemmWork {
  // Added to the sums: offsets by column, padded to full panels, and a bias by row, which is removed from the
  // epilogue.
  const std::int64_t* offsets = nullptr;
  Spread<std::int32_t> row_bias = {};
  bool in_doubles = false;  // doubles hold every sum exactly
};
}  // namespace anybit::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

// How A is packed into scratch memory.
class IntegerLeft {
 public:
  static constexpr int kTogether = 1;
  using A = std::int16_t;
  explicit IntegerLeft(const IntegerGemmWork& work) : work_(work) {}

  // Longer rows get padded strides, to avoid cache set conflicts.
  static constexpr std::int64_t kShort = 128;
  static std::int64_t Stride(std::int64_t depth) { return Ratio(depth, 2) * 2 + 2 * kPanel; }
  std::int64_t LeftBytes(std::int64_t rows, std::int64_t depth) const {
    const std::int64_t raw = work_.rows ? rows * depth * bytes_of(work_.a.type) : 0;
    return Ratio(rows * Stride(depth) * 2, 64) * 64 + Ratio(raw, 64) * 64;
  }
  HWY_INLINE const std::int16_t* Left(std::int64_t row, std::int64_t rows, std::int64_t k, std::int64_t count,
                                      std::byte* scratch, std::int64_t& stride) const {
    stride = Stride(count);
    auto* to = reinterpret_cast<std::int16_t*>(scratch);
    IntegerView from = work_.a;
    const std::int64_t width = bytes_of(from.type);
    if (work_.rows) {
      std::byte* raw = scratch + Ratio(rows * stride * 2, 64) * 64;
      work_.rows->read(row, rows, k, count, raw, count);
      from.data = raw;
      from.row_stride = count;
      from.column_stride = 1;
    } else {
      from.data =
          static_cast<const std::byte*>(from.data) + (row * from.row_stride + k * from.column_stride) * width;
    }
    // Short contiguous rows are one long row.
    if (count <= kShort && count % 2 == 0 && from.row_stride == count && from.column_stride == 1 &&
        work_.a_zero.row_stride == 0) {
      stride = count;
      Widen(from.type, from.data, 1, rows * count, Zero(row), to);
      return to;
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      const auto* at = static_cast<const std::byte*>(from.data) + r * from.row_stride * width;
      Widen(from.type, at, from.column_stride, count, Zero(row + r), to + r * stride);
    }
    return to;
  }

 protected:
  HWY_INLINE std::int32_t Zero(std::int64_t row) const {
    return work_.a_zero.data ? work_.a_zero.data[row * work_.a_zero.row_stride] : 0;
  }
  static HWY_INLINE void Widen(IntegerType type, const void* from, std::int64_t step, std::int64_t count,
                               std::int32_t zero, std::int16_t* to) {
    switch (type) {
      case IntegerType::int8:
        return WidenRow(static_cast<const std::int8_t*>(from), step, count, zero, to);
      case IntegerType::uint8:
        return WidenRow(static_cast<const std::uint8_t*>(from), step, count, zero, to);
      case IntegerType::int16:  // subtracting the zero point could overflow: the rest of it is applied to the
                                // sums
        return WidenRow(static_cast<const std::int16_t*>(from), step, count, 0, to);
      case IntegerType::uint16:
        return WidenRow(static_cast<const std::uint16_t*>(from), step, count, 32768, to);
    }
  }
  const IntegerGemmWork& work_;
};

// B in any layout: panels are widened, and their zero points subtracted, when needed.
class IntegerMath : public IntegerLeft {
 public:
  using B = std::int16_t;
  using Sum = std::int32_t;
  static constexpr std::int64_t kRowBytes = 0;
  explicit IntegerMath(const IntegerGemmWork& work) : IntegerLeft(work), finish_(work) {}

  static std::int64_t RightBytes(std::int64_t depth) { return Ratio(depth, 2) * 2 * kPanel * 2; }
  static const std::byte* Ahead(std::int64_t, std::int64_t) { return nullptr; }
  static Sum* Direct(std::int64_t, std::int64_t, std::int64_t&) { return nullptr; }
  HWY_INLINE const B* Right(std::int64_t panel, std::int64_t k, std::int64_t count, B* scratch) const {
    work_.b->panel(panel, k, count, 0, scratch);
    return scratch;
  }
  HWY_INLINE void Multiply(int rows, const A* a, std::int64_t stride, const B* b, std::int64_t count,
                           Sum* sums, std::int64_t sum_stride, bool first) const {
    MultiplyIntegers(rows, a, stride, b, count, sums, sum_stride, first);
  }
  HWY_INLINE void Finish(const Sum* sums, std::int64_t row, int rows, std::int64_t panel) const {
    finish_.Tile(sums, row, rows, panel * kPanel);
  }

 private:
  IntegerFinish finish_;
};

// B packed as bytes: they are widened on the way to the registers, at almost no cost, and their zero points
// are applied to the sums.
class NarrowMath : public IntegerLeft {
 public:
  using B = std::int8_t;
  using Sum = std::int32_t;
  static constexpr std::int64_t kRowBytes = kPanel;
  explicit NarrowMath(const IntegerGemmWork& work)
      : IntegerLeft(work),
        finish_(work),
        plain_(work.epilogue.type == IntegerResult::int32 && !work.epilogue.bias.data && !work.b->zeros()) {}

  static std::int64_t RightBytes(std::int64_t) { return 0; }
  HWY_INLINE const std::int16_t* Left(std::int64_t row, std::int64_t rows, std::int64_t k, std::int64_t count,
                                      std::byte* scratch, std::int64_t& stride) {
    const std::int16_t* a = IntegerLeft::Left(row, rows, k, count, scratch, stride);
    first_row_ = row;
    for (std::int64_t r = 0; r < rows && work_.b->zeros(); ++r) {
      std::uint32_t sum = k == 0 ? 0 : row_sums_[r];
      for (std::int64_t i = 0; i < count; ++i) sum += static_cast<std::uint32_t>(a[r * stride + i]);
      row_sums_[r] = sum;
    }
    return a;
  }
  HWY_INLINE Sum* Direct(std::int64_t row, std::int64_t panel, std::int64_t& stride) const {
    if (!plain_ || (panel + 1) * kPanel > work_.n) return nullptr;
    stride = work_.c_stride;
    return static_cast<std::int32_t*>(work_.c) + row * stride + panel * kPanel;
  }
  HWY_INLINE const std::byte* Ahead(std::int64_t panel, std::int64_t k) const {
    return reinterpret_cast<const std::byte*>(work_.b->narrow(panel) + k * kPanel);
  }
  HWY_INLINE const B* Right(std::int64_t panel, std::int64_t k, std::int64_t, B*) {
    half_ = work_.n - panel * kPanel <= kPanel / 2;
    return work_.b->narrow(panel) + k * kPanel;
  }
  HWY_INLINE void Multiply(int rows, const A* a, std::int64_t stride, const B* b, std::int64_t count,
                           Sum* sums, std::int64_t sum_stride, bool first) const {
    if (half_) {
      MultiplyIntegers<kHalfVectors>(rows, a, stride, b, count, sums, sum_stride, first);
    } else {
      MultiplyIntegers(rows, a, stride, b, count, sums, sum_stride, first);
    }
  }
  HWY_INLINE void Finish(Sum* sums, std::int64_t row, int rows, std::int64_t panel) const {
    if (const std::int32_t* zeros = work_.b->zeros()) {
      for (int r = 0; r < rows; ++r) {
        const std::uint32_t of_row = row_sums_[row - first_row_ + r];
        for (std::int64_t i = 0; i < kPanel; ++i) {
          const auto sum = static_cast<std::uint32_t>(sums[r * kPanel + i]);
          const auto zero = static_cast<std::uint32_t>(zeros[panel * kPanel + i]);
          sums[r * kPanel + i] = static_cast<std::int32_t>(sum - of_row * zero);
        }
      }
    }
    finish_.Tile(sums, row, rows, panel * kPanel);
  }

 private:
  IntegerFinish finish_;
  const bool plain_;   // sums are C's elements
  bool half_ = false;  // only half of the panel's columns are used
  std::int64_t first_row_ = 0;
  std::uint32_t row_sums_[kBlockRows + kTileRows];
};

class WideMath : public IntegerLeft {
 public:
  using B = std::int16_t;
  using Sum = std::int64_t;
  explicit WideMath(const Int64GemmWork& work) : IntegerLeft(work), wide_(work), finish_(work) {}

  std::int64_t RightBytes(std::int64_t depth) const { return work_.b->parts() * Part(depth) * 2; }
  static constexpr std::int64_t kRowBytes = 0;
  static const std::byte* Ahead(std::int64_t, std::int64_t) { return nullptr; }
  static Sum* Direct(std::int64_t, std::int64_t, std::int64_t&) { return nullptr; }
  HWY_INLINE const B* Right(std::int64_t panel, std::int64_t k, std::int64_t count, B* scratch) const {
    for (int part = 0; part < work_.b->parts(); ++part) {
      work_.b->panel(panel, k, count, part, scratch + part * Part(count));
    }
    return scratch;
  }
  HWY_INLINE void Multiply(int rows, const A* a, std::int64_t stride, const B* b, std::int64_t count,
                           Sum* sums, std::int64_t, bool first) const {
    HWY_ALIGN std::int32_t some[2][kTileRows * kPanel] = {};
    for (int part = 0; part < work_.b->parts(); ++part) {
      MultiplyIntegers(rows, a, stride, b + part * Part(count), count, some[part], kPanel, true);
    }
    AddParts(some[0], work_.b->parts() == 2 ? some[1] : nullptr, rows * kPanel, first, sums);
  }
  HWY_INLINE void Finish(Sum* sums, std::int64_t row, int rows, std::int64_t panel) const {
    const std::int64_t column = panel * kPanel;
    for (int r = 0; r < rows; ++r) {
      for (std::int64_t i = 0; i < kPanel; ++i) sums[r * kPanel + i] += wide_.offsets[column + i];
    }
    if (wide_.row_bias.data) AddRowBias(sums, row, rows, column);
    if (work_.epilogue.type == IntegerResult::int32) {
      HWY_ALIGN std::int32_t wrapped[kTileRows * kPanel];
      for (std::int64_t i = 0; i < rows * kPanel; ++i)
        wrapped[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sums[i]));
      return finish_.Tile(wrapped, row, rows, column);
    }
    HWY_ALIGN float reals[kTileRows * kPanel];
    if (wide_.in_doubles) {
      ToFloats(sums, rows * kPanel, reals);
    } else {
      for (std::int64_t i = 0; i < rows * kPanel; ++i) reals[i] = static_cast<float>(sums[i]);
    }
    finish_.Tile(reals, row, rows, column);
  }

 private:
  static std::int64_t Part(std::int64_t depth) { return Ratio(depth, 2) * 2 * kPanel; }

  void AddRowBias(Sum* sums, std::int64_t row, int rows, std::int64_t column) const {
    const std::int64_t columns = std::min(kPanel, work_.n - column);
    std::int32_t buffer[kPanel];
    for (int r = 0; r < rows; ++r) {
      const std::int32_t* bias = SpreadRow(wide_.row_bias, row + r, column, columns, buffer);
      for (std::int64_t i = 0; i < columns; ++i) sums[r * kPanel + i] += bias[i];
    }
  }

#if HWY_TARGET == HWY_SCALAR
  static void AddParts(const std::int32_t* lower, const std::int32_t* upper, std::int64_t count, bool first,
                       Sum* sums) {
    for (std::int64_t i = 0; i < count; ++i)
      sums[i] = (first ? 0 : sums[i]) + lower[i] + (upper ? upper[i] * Sum{256} : 0);
  }
  static void ToFloats(const Sum* sums, std::int64_t count, float* to) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(sums[i]);
  }
#else
  using DL = hn::Rebind<std::int64_t, hn::Half<DI> >;
  static HWY_INLINE void AddParts(const std::int32_t* lower, const std::int32_t* upper, std::int64_t count,
                                  bool first, Sum* sums) {
    const DL d;
    const hn::Half<DI> half;
    for (std::int64_t i = 0; i < count; i += kLanes / 2) {
      auto all = hn::PromoteTo(d, hn::Load(half, lower + i));
      if (upper) all = hn::Add(all, hn::ShiftLeft<8>(hn::PromoteTo(d, hn::Load(half, upper + i))));
      hn::Store(first ? all : hn::Add(all, hn::Load(d, sums + i)), d, sums + i);
    }
  }
  // Exact conversion of magnitudes below 2⁵¹: added to the bits of the double 1.5·2⁵², they are its mantissa.
  // The only rounding is the one to float.
  static HWY_INLINE void ToFloats(const Sum* sums, std::int64_t count, float* to) {
    const DL d;
    const hn::Rebind<double, DL> dd;
    const hn::Half<DF> half;
    const auto middle = hn::Set(dd, 6755399441055744.0);
    for (std::int64_t i = 0; i < count; i += kLanes / 2) {
      const auto bits = hn::Add(hn::Load(d, sums + i), hn::BitCast(d, middle));
      hn::Store(hn::DemoteTo(half, hn::Sub(hn::BitCast(dd, bits), middle)), half, to + i);
    }
  }
#endif

  const Int64GemmWork& wide_;
  IntegerFinish finish_;
};

// A row by packed bytes, which are read once.
void OneRow(const IntegerGemmWork& work, ThreadPool& pool) {
  constexpr int kStrip = 4;
  const std::int64_t all = Ratio(work.n, kPanel), macs = std::max<std::int64_t>(1, kStrip * kPanel * work.k);
  pool.run(
      Ratio(all, kStrip), Ratio(kPartMacs, macs), [&work](std::int64_t first, std::int64_t last) HWY_ATTR {
        const std::int64_t panels = Ratio(work.n, kPanel), pairs = Ratio(work.k, 2);
        NarrowMath math(work);
        std::int64_t stride = 0;
        const std::int16_t* a = math.Left(0, 1, 0, work.k, gemm_scratch(math.LeftBytes(1, work.k)), stride);
        HWY_ALIGN std::int32_t sums[kStrip * kPanel];
        for (std::int64_t p = first * kStrip; p < std::min(last * kStrip, panels); p += kStrip) {
          const bool whole = p + kStrip <= panels;
          if (whole) IntegerStrip<kStrip>(a, work.b->narrow(p), pairs, sums);
          for (std::int64_t i = p; i < std::min(p + kStrip, panels); ++i) {
            if (!whole) IntegerStrip<1>(a, work.b->narrow(i), pairs, sums + (i - p) * kPanel);
            math.Finish(sums + (i - p) * kPanel, 0, 1, i);
          }
        }
      });
}

void NarrowGemm(const IntegerGemmWork& work, ThreadPool& pool) {
  // If panels are read only once, they are read in order, which is fastest.
  const bool once = work.m <= kTileRows;
  RunBlocks<NarrowMath>(work, once ? std::max<std::int64_t>(work.k, 1) : 1024, pool);
}

void IntegerGemmLoops(const IntegerGemmWork& work, ThreadPool& pool) {
  RunBlocks<IntegerMath>(work, 512, pool);
}

// 252 products of int16 by a part of B of magnitude 256 at most fit 32 bits.
void Int64Gemm(const Int64GemmWork& work, ThreadPool& pool) { RunBlocks<WideMath>(work, 252, pool); }

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <vector>

#include "kernels/choose.hpp"

namespace anybit::kernels {
namespace {

bool is_packed_bytes(const IntegerGemmWork& work) { return work.b->narrow(0) != nullptr; }
bool is_row_by_packed_bytes(const IntegerGemmWork& work) { return work.m == 1 && is_packed_bytes(work); }

std::int64_t largest_bias(const IntegerGemmWork& work) {
  const Spread<std::int32_t>& bias = work.epilogue.bias;
  std::int64_t largest = 0;
  if (!bias.data) return largest;
  for (std::int64_t r = 0; r < (bias.row_stride == 0 ? 1 : work.m); ++r) {
    for (std::int64_t c = 0; c < (bias.column_stride == 0 ? 1 : work.n); ++c) {
      largest = std::max(largest, std::abs(std::int64_t{bias.data[r * bias.row_stride + c]}));
    }
  }
  return largest;
}

std::int32_t zero_of(const IntegerGemmWork& work) { return work.a_zero.data ? *work.a_zero.data : 0; }

// A bound for the magnitude of a sum with its bias.
std::int64_t largest_total(const IntegerGemmWork& work) {
  return farthest(work.a.type, zero_of(work)) * work.b->largest_sum() + largest_bias(work);
}

// Whether 32-bit sums, which may wrap on the way, end up correct.
bool fits_32_bits(const IntegerGemmWork& work) {
  if (work.b->parts() == 2) return false;
  return work.epilogue.type == IntegerResult::int32 || largest_total(work) <= INT32_MAX;
}

// The offsets of the sums by column, padded to full panels: the bias, unless it is by row, minus the
// contribution of A's remaining zero point. Removes such a bias from the epilogue.
std::vector<std::int64_t> take_offsets(IntegerGemmWork& work) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>((work.n + kPanel - 1) / kPanel * kPanel));
  if (const std::int64_t left = left_zero(work.a.type, zero_of(work)); left != 0) {
    const std::int64_t* sums = work.b->column_sums();
    const auto made = sums ? std::vector<std::int64_t>() : column_sums(*work.b, work.k, work.n);
    for (std::size_t c = 0; c < offsets.size(); ++c) offsets[c] = -left * (sums ? sums[c] : made[c]);
  }
  Spread<std::int32_t>& bias = work.epilogue.bias;
  if (!bias.data || bias.row_stride != 0) return offsets;
  for (std::int64_t c = 0; c < work.n; ++c)
    offsets[static_cast<std::size_t>(c)] += bias.data[c * bias.column_stride];
  bias = {};
  return offsets;
}

}  // namespace

std::span<const Descriptor> gemm_int8_simd_descriptors() {
  using enum Instructions;
  constexpr std::string_view kTypes = "8 or 16 bits by 8", kWide = "8 or 16 bits";
  static const Descriptor all[] = {
      {"one row", kTypes, "one row, packed int8 or uint8", avx2, false, 0,
       IntegerGemm{HWY_CHOOSE_AVX2(OneRow), is_row_by_packed_bytes}},
      {"packed", kTypes, "packed int8 or uint8", avx2, false, 1,
       IntegerGemm{HWY_CHOOSE_AVX2(NarrowGemm), is_packed_bytes}},
      {"widened", kTypes, "", avx2, false, 2, IntegerGemm{HWY_CHOOSE_AVX2(IntegerGemmLoops)}},
      {"one row", kTypes, "one row, packed int8 or uint8", baseline, true, 0,
       IntegerGemm{HWY_STATIC_DISPATCH(OneRow), is_row_by_packed_bytes}},
      {"packed", kTypes, "packed int8 or uint8", baseline, true, 1,
       IntegerGemm{HWY_STATIC_DISPATCH(NarrowGemm), is_packed_bytes}},
      {"widened", kTypes, "", baseline, true, 2, IntegerGemm{HWY_STATIC_DISPATCH(IntegerGemmLoops)}},
      {"two parts", kWide, "", avx2, false, 0, kernels::Int64Gemm{HWY_CHOOSE_AVX2(Int64Gemm)}},
      {"two parts", kWide, "", baseline, true, 0, kernels::Int64Gemm{HWY_STATIC_DISPATCH(Int64Gemm)}},
  };
  return all;
}

void gemm(const IntegerGemmWork& work, ThreadPool& pool) {
  if (work.m <= 0 || work.n <= 0) return;
  const bool fits = fits_32_bits(work), left = left_zero(work.a.type, zero_of(work)) != 0;
  if (fits && !left) return choose<IntegerGemm>(work).run(work, pool);
  Int64GemmWork wide{work};
  wide.in_doubles = largest_total(work) < std::int64_t{1} << 51;
  const std::vector<std::int64_t> offsets = take_offsets(wide);
  if (fits && !wide.epilogue.bias.data) {
    const std::vector<std::int32_t> wrapped(offsets.begin(), offsets.end());
    wide.epilogue.bias = {wrapped.data(), 0, 1};
    return choose<IntegerGemm>(wide).run(wide, pool);
  }
  wide.offsets = offsets.data();
  std::swap(wide.row_bias, wide.epilogue.bias);
  choose<kernels::Int64Gemm>(wide).run(wide, pool);
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
