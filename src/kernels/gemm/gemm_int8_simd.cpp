// Exact integer GEMM. Sums have 32 bits while they fit, otherwise 64: 16-bit by 8-bit products fit 32 bits
// for a k of 500 at least, 16-bit by 16-bit products always use 64.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm_int8_simd.cpp"
#include "hwy/foreach_target.h"
#include "kernels/gemm/gemm_int8_tiles-inl.h"

#ifndef ANYBIT_KERNELS_GEMM_WHOLE_ONCE_
#define ANYBIT_KERNELS_GEMM_WHOLE_ONCE_
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
  explicit IntegerLeft(const IntegerGemmWork& product) : product_(product) {}

  // Longer rows get padded strides, to avoid cache set conflicts.
  static constexpr std::int64_t kShort = 128;
  static std::int64_t Stride(std::int64_t depth) { return Ratio(depth, 2) * 2 + 2 * kPanel; }
  std::int64_t LeftBytes(std::int64_t rows, std::int64_t depth) const {
    const std::int64_t raw = product_.rows ? rows * depth * bytes_of(product_.a.type) : 0;
    return Ratio(rows * Stride(depth) * 2, 64) * 64 + Ratio(raw, 64) * 64;
  }
  HWY_INLINE const std::int16_t* Left(std::int64_t row, std::int64_t rows, std::int64_t k, std::int64_t count,
                                      std::byte* scratch, std::int64_t& stride) const {
    stride = Stride(count);
    auto* to = reinterpret_cast<std::int16_t*>(scratch);
    IntegerView from = product_.a;
    const std::int64_t width = bytes_of(from.type);
    if (product_.rows) {
      std::byte* raw = scratch + Ratio(rows * stride * 2, 64) * 64;
      product_.rows->read(row, rows, k, count, raw, count);
      from.data = raw;
      from.row_stride = count;
      from.column_stride = 1;
    } else {
      from.data =
          static_cast<const std::byte*>(from.data) + (row * from.row_stride + k * from.column_stride) * width;
    }
    // Short contiguous rows are one long row.
    if (count <= kShort && count % 2 == 0 && from.row_stride == count && from.column_stride == 1 &&
        product_.a_zero.row_stride == 0) {
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
    return product_.a_zero.data ? product_.a_zero.data[row * product_.a_zero.row_stride] : 0;
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
  const IntegerGemmWork& product_;
};

// B in any layout: panels are widened, and their zero points subtracted, when needed.
class IntegerMath : public IntegerLeft {
 public:
  using B = std::int16_t;
  using Sum = std::int32_t;
  static constexpr std::int64_t kRowBytes = 0;
  explicit IntegerMath(const IntegerGemmWork& product) : IntegerLeft(product), finish_(product) {}

  static std::int64_t RightBytes(std::int64_t depth) { return Ratio(depth, 2) * 2 * kPanel * 2; }
  static const std::byte* Ahead(std::int64_t, std::int64_t) { return nullptr; }
  static Sum* Direct(std::int64_t, std::int64_t, std::int64_t&) { return nullptr; }
  HWY_INLINE const B* Right(std::int64_t panel, std::int64_t k, std::int64_t count, B* scratch) const {
    product_.b->panel(panel, k, count, 0, scratch);
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
  explicit NarrowMath(const IntegerGemmWork& product)
      : IntegerLeft(product),
        finish_(product),
        plain_(product.epilogue.type == IntegerResult::int32 && !product.epilogue.bias.data &&
               !product.b->zeros()) {}

  static std::int64_t RightBytes(std::int64_t) { return 0; }
  HWY_INLINE const std::int16_t* Left(std::int64_t row, std::int64_t rows, std::int64_t k, std::int64_t count,
                                      std::byte* scratch, std::int64_t& stride) {
    const std::int16_t* a = IntegerLeft::Left(row, rows, k, count, scratch, stride);
    first_row_ = row;
    for (std::int64_t r = 0; r < rows && product_.b->zeros(); ++r) {
      std::uint32_t sum = k == 0 ? 0 : row_sums_[r];
      for (std::int64_t i = 0; i < count; ++i) sum += static_cast<std::uint32_t>(a[r * stride + i]);
      row_sums_[r] = sum;
    }
    return a;
  }
  HWY_INLINE Sum* Direct(std::int64_t row, std::int64_t panel, std::int64_t& stride) const {
    if (!plain_ || (panel + 1) * kPanel > product_.n) return nullptr;
    stride = product_.c_stride;
    return static_cast<std::int32_t*>(product_.c) + row * stride + panel * kPanel;
  }
  HWY_INLINE const std::byte* Ahead(std::int64_t panel, std::int64_t k) const {
    return reinterpret_cast<const std::byte*>(product_.b->narrow(panel) + k * kPanel);
  }
  HWY_INLINE const B* Right(std::int64_t panel, std::int64_t k, std::int64_t, B*) {
    half_ = product_.n - panel * kPanel <= kPanel / 2;
    return product_.b->narrow(panel) + k * kPanel;
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
    if (const std::int32_t* zeros = product_.b->zeros()) {
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
  explicit WideMath(const Int64GemmWork& product) : IntegerLeft(product), wide_(product), finish_(product) {}

  std::int64_t RightBytes(std::int64_t depth) const { return product_.b->parts() * Part(depth) * 2; }
  static constexpr std::int64_t kRowBytes = 0;
  static const std::byte* Ahead(std::int64_t, std::int64_t) { return nullptr; }
  static Sum* Direct(std::int64_t, std::int64_t, std::int64_t&) { return nullptr; }
  HWY_INLINE const B* Right(std::int64_t panel, std::int64_t k, std::int64_t count, B* scratch) const {
    for (int part = 0; part < product_.b->parts(); ++part) {
      product_.b->panel(panel, k, count, part, scratch + part * Part(count));
    }
    return scratch;
  }
  HWY_INLINE void Multiply(int rows, const A* a, std::int64_t stride, const B* b, std::int64_t count,
                           Sum* sums, std::int64_t, bool first) const {
    HWY_ALIGN std::int32_t some[2][kTileRows * kPanel] = {};
    for (int part = 0; part < product_.b->parts(); ++part) {
      MultiplyIntegers(rows, a, stride, b + part * Part(count), count, some[part], kPanel, true);
    }
    AddParts(some[0], product_.b->parts() == 2 ? some[1] : nullptr, rows * kPanel, first, sums);
  }
  HWY_INLINE void Finish(Sum* sums, std::int64_t row, int rows, std::int64_t panel) const {
    const std::int64_t column = panel * kPanel;
    for (int r = 0; r < rows; ++r) {
      for (std::int64_t i = 0; i < kPanel; ++i) sums[r * kPanel + i] += wide_.offsets[column + i];
    }
    if (wide_.row_bias.data) AddRowBias(sums, row, rows, column);
    if (product_.epilogue.type == IntegerResult::int32) {
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
    const std::int64_t columns = std::min(kPanel, product_.n - column);
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
void OneRow(const IntegerGemmWork& product, ThreadPool& pool) {
  constexpr int kStrip = 4;
  const std::int64_t all = Ratio(product.n, kPanel),
                     macs = std::max<std::int64_t>(1, kStrip * kPanel * product.k);
  pool.run(Ratio(all, kStrip), Ratio(kPartMacs, macs),
           [&product](std::int64_t first, std::int64_t last) HWY_ATTR {
             const std::int64_t panels = Ratio(product.n, kPanel), pairs = Ratio(product.k, 2);
             NarrowMath math(product);
             std::int64_t stride = 0;
             const std::int16_t* a =
                 math.Left(0, 1, 0, product.k, gemm_scratch(math.LeftBytes(1, product.k)), stride);
             HWY_ALIGN std::int32_t sums[kStrip * kPanel];
             for (std::int64_t p = first * kStrip; p < std::min(last * kStrip, panels); p += kStrip) {
               const bool whole = p + kStrip <= panels;
               if (whole) IntegerStrip<kStrip>(a, product.b->narrow(p), pairs, sums);
               for (std::int64_t i = p; i < std::min(p + kStrip, panels); ++i) {
                 if (!whole) IntegerStrip<1>(a, product.b->narrow(i), pairs, sums + (i - p) * kPanel);
                 math.Finish(sums + (i - p) * kPanel, 0, 1, i);
               }
             }
           });
}

void NarrowGemm(const IntegerGemmWork& product, ThreadPool& pool) {
  // If panels are read only once, they are read in order, which is fastest.
  const bool once = product.m <= kTileRows;
  RunBlocks<NarrowMath>(product, once ? std::max<std::int64_t>(product.k, 1) : 1024, pool);
}

void IntegerGemmLoops(const IntegerGemmWork& product, ThreadPool& pool) {
  RunBlocks<IntegerMath>(product, 512, pool);
}

// 252 products of int16 by a part of B of magnitude 256 at most fit 32 bits.
void Int64Gemm(const Int64GemmWork& product, ThreadPool& pool) { RunBlocks<WideMath>(product, 252, pool); }

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <vector>

#include "kernels/choose.hpp"

namespace anybit::kernels {
namespace {

bool is_packed_bytes(const IntegerGemmWork& product) { return product.b->narrow(0) != nullptr; }
bool is_row_by_packed_bytes(const IntegerGemmWork& product) {
  return product.m == 1 && is_packed_bytes(product);
}

std::int64_t largest_bias(const IntegerGemmWork& product) {
  const Spread<std::int32_t>& bias = product.epilogue.bias;
  std::int64_t largest = 0;
  if (!bias.data) return largest;
  for (std::int64_t r = 0; r < (bias.row_stride == 0 ? 1 : product.m); ++r) {
    for (std::int64_t c = 0; c < (bias.column_stride == 0 ? 1 : product.n); ++c) {
      largest = std::max(largest, std::abs(std::int64_t{bias.data[r * bias.row_stride + c]}));
    }
  }
  return largest;
}

std::int32_t zero_of(const IntegerGemmWork& product) {
  return product.a_zero.data ? *product.a_zero.data : 0;
}

// A bound for the magnitude of a sum with its bias.
std::int64_t largest_total(const IntegerGemmWork& product) {
  return farthest(product.a.type, zero_of(product)) * product.b->largest_sum() + largest_bias(product);
}

// Whether 32-bit sums, which may wrap on the way, end up correct.
bool fits_32_bits(const IntegerGemmWork& product) {
  if (product.b->parts() == 2) return false;
  return product.epilogue.type == IntegerResult::int32 || largest_total(product) <= INT32_MAX;
}

// The offsets of the sums by column, padded to full panels: the bias, unless it is by row, minus the
// contribution of A's remaining zero point. Removes such a bias from the epilogue.
std::vector<std::int64_t> take_offsets(IntegerGemmWork& product) {
  std::vector<std::int64_t> offsets(static_cast<std::size_t>((product.n + kPanel - 1) / kPanel * kPanel));
  if (const std::int64_t left = left_zero(product.a.type, zero_of(product)); left != 0) {
    const std::int64_t* sums = product.b->column_sums();
    const auto made = sums ? std::vector<std::int64_t>() : column_sums(*product.b, product.k, product.n);
    for (std::size_t c = 0; c < offsets.size(); ++c) offsets[c] = -left * (sums ? sums[c] : made[c]);
  }
  Spread<std::int32_t>& bias = product.epilogue.bias;
  if (!bias.data || bias.row_stride != 0) return offsets;
  for (std::int64_t c = 0; c < product.n; ++c)
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

void gemm(const IntegerGemmWork& product, ThreadPool& pool) {
  if (product.m <= 0 || product.n <= 0) return;
  const bool fits = fits_32_bits(product), left = left_zero(product.a.type, zero_of(product)) != 0;
  if (fits && !left) return choose<IntegerGemm>(product).run(product, pool);
  Int64GemmWork wide{product};
  wide.in_doubles = largest_total(product) < std::int64_t{1} << 51;
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
