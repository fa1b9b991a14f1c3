// float32 GEMM. Sums are fused multiply-adds in the order of k where the CPU has them; in reproducible mode
// they are unfused, in the same order.
#include "base/reproducible.hpp"
#include "kernels/choose.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm_float_simd.cpp"
#include "hwy/foreach_target.h"
#include "kernels/gemm/gemm_epilogue-inl.h"
#include "kernels/gemm/gemm_float_avx512.hpp"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

constexpr std::int64_t kAhead = 128;  // prefetch distance, in rows of B

template <bool Fused>
HWY_INLINE VF Sum(VF x, VF y, VF sum) {
  return Fused ? hn::MulAdd(x, y, sum) : hn::Add(hn::Mul(x, y), sum);
}

// Micro-kernel for a tile of `Rows` rows. `b` has rows of 16.
template <bool Fused, int Rows>
HWY_NOINLINE void FloatTile(const float* HWY_RESTRICT a, std::int64_t stride, const float* HWY_RESTRICT b,
                            std::int64_t count, float* HWY_RESTRICT sums, std::int64_t sum_stride,
                            bool first) {
  const DF d;
  VF sum[Rows][kVectors];
  HWY_UNROLL(16)
  for (int r = 0; r < Rows; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v)
      sum[r][v] = first ? hn::Zero(d) : hn::LoadU(d, sums + r * sum_stride + v * kLanes);
  }
  for (std::int64_t k = 0; k < count; ++k) {
    VF row[kVectors];
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) row[v] = hn::LoadU(d, b + k * kPanel + v * kLanes);
    HWY_UNROLL(16)
    for (int r = 0; r < Rows; ++r) {
      const VF x = hn::Set(d, a[r * stride + k]);
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        sum[r][v] = Sum<Fused>(x, row[v], sum[r][v]);
        ANYBIT_PIN(sum[r][v]);
      }
    }
  }
  HWY_UNROLL(16)
  for (int r = 0; r < Rows; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[r][v], d, sums + r * sum_stride + v * kLanes);
  }
}

// Where the panels of a strip of B begin, and their rows: packed, or inside the matrix as it is.
struct Strip {
  const float* b;
  std::int64_t panel, row;  // strides
};

// The same for a few rows and several panels at once: a single panel is bound by the latency of its sums.
template <bool Fused, int Rows, int Panels>
HWY_NOINLINE void FloatStrip(const float* HWY_RESTRICT a, std::int64_t stride, const Strip strip,
                             std::int64_t count, float* HWY_RESTRICT sums) {
  const DF d;
  VF sum[Panels][Rows][kVectors];
  HWY_UNROLL(4)
  for (int p = 0; p < Panels; ++p) {
    HWY_UNROLL(4)
    for (int r = 0; r < Rows; ++r) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) sum[p][r][v] = hn::Zero(d);
    }
  }
  for (std::int64_t k = 0; k < count; ++k) {
    HWY_UNROLL(4)
    for (int p = 0; p < Panels; ++p) {
      const float* row = strip.b + p * strip.panel + k * strip.row;
      __builtin_prefetch(row + kAhead * kPanel);
      HWY_UNROLL(4)
      for (int r = 0; r < Rows; ++r) {
        const VF x = hn::Set(d, a[r * stride + k]);
        HWY_UNROLL(4)
        for (int v = 0; v < kVectors; ++v) {
          sum[p][r][v] = Sum<Fused>(x, hn::LoadU(d, row + v * kLanes), sum[p][r][v]);
          ANYBIT_PIN(sum[p][r][v]);
        }
      }
    }
  }
  HWY_UNROLL(4)
  for (int p = 0; p < Panels; ++p) {
    HWY_UNROLL(4)
    for (int r = 0; r < Rows; ++r) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v)
        hn::Store(sum[p][r][v], d, sums + (p * Rows + r) * kPanel + v * kLanes);
    }
  }
}

using FloatTiles = void (*)(const float*, std::int64_t, const float*, std::int64_t, float*, std::int64_t,
                            bool);
template <bool Fused, int... Rows>
HWY_INLINE FloatTiles FloatTileOf(int rows, std::integer_sequence<int, Rows...>) {
  static constexpr FloatTiles all[] = {FloatTile<Fused, Rows + 1>...};
  return all[rows - 1];
}

template <bool Fused>
class FloatMath {
 public:
  static constexpr int kTogether = 1;
  using A = float;
  using B = float;
  using Sum = float;
  explicit FloatMath(const FloatGemmWork& work) : work_(work), plain_(IsPlain(work.epilogue)) {}

  static std::int64_t Stride(std::int64_t depth) { return depth + kPanel; }
  std::int64_t LeftBytes(std::int64_t rows, std::int64_t depth) const {
    return InPlace() ? 0 : Ratio(rows * Stride(depth) * 4, 64) * 64;
  }
  std::int64_t RightBytes(std::int64_t depth) const { return work_.b->packed() ? 0 : depth * kPanel * 4; }

  HWY_INLINE const float* Left(std::int64_t row, std::int64_t rows, std::int64_t k, std::int64_t count,
                               std::byte* scratch, std::int64_t& stride) const {
    const MatrixView<float>& a = work_.a;
    if (InPlace()) {
      stride = a.row_stride;
      return a.data + row * stride + k;
    }
    stride = Stride(count);
    float* to = reinterpret_cast<float*>(scratch);
    if (work_.rows) {
      work_.rows->read(row, rows, k, count, to, stride);
      return to;
    }
    const float* from = a.data + row * a.row_stride + k * a.column_stride;
    for (std::int64_t i = 0; i < count; ++i) {
      for (std::int64_t r = 0; r < rows; ++r)
        to[r * stride + i] = from[r * a.row_stride + i * a.column_stride];
    }
    return to;
  }
  static constexpr std::int64_t kRowBytes = kPanel * 4;
  HWY_INLINE const std::byte* Ahead(std::int64_t panel, std::int64_t k) const {
    const float* packed = work_.b->packed();
    return packed ? reinterpret_cast<const std::byte*>(packed + (panel * work_.k + k) * kPanel) : nullptr;
  }
  HWY_INLINE const float* Right(std::int64_t panel, std::int64_t k, std::int64_t count,
                                float* scratch) const {
    return work_.b->panel(panel, k, count, scratch);
  }
  HWY_INLINE void Multiply(int rows, const float* a, std::int64_t stride, const float* b, std::int64_t count,
                           float* sums, std::int64_t sum_stride, bool first) const {
    FloatTileOf<Fused>(rows, std::make_integer_sequence<int, kTileRows>())(a, stride, b, count, sums,
                                                                           sum_stride, first);
  }
  HWY_INLINE float* Direct(std::int64_t row, std::int64_t panel, std::int64_t& stride) const {
    if (!plain_ || (panel + 1) * kPanel > work_.n) return nullptr;
    stride = work_.c_stride;
    return work_.c + row * stride + panel * kPanel;
  }
  HWY_INLINE void Finish(const float* sums, std::int64_t row, int rows, std::int64_t panel) const {
    FinishTile(work_, sums, row, rows, panel);
  }

 private:
  bool InPlace() const { return !work_.rows && work_.a.column_stride == 1; }
  static bool IsPlain(const FloatEpilogue& e) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    return e.alpha == 1 && !e.addend.data && e.low == -kInfinity && e.high == kInfinity;
  }
  const FloatGemmWork& work_;
  const bool plain_;  // sums are C's elements
};

// Two panels at a time, with vectors of 16 lanes.
class Avx512Math : public FloatMath<true> {
 public:
  static constexpr int kTogether = 2;
  static_assert(kTileRows <= kFloatTileRows);
  using FloatMath<true>::FloatMath;
  HWY_INLINE void Multiply(int rows, const float* a, std::int64_t stride, const float* b, std::int64_t count,
                           float* sums, std::int64_t sum_stride, bool first) const {
    multiply_tiles_avx512(rows, {a, stride, {b, nullptr}, count, sums, sum_stride, 0, first});
  }
  HWY_INLINE void MultiplyTwo(int rows, const float* a, std::int64_t stride, const float* const (&b)[2],
                              std::int64_t count, float* sums, std::int64_t sum_stride, std::int64_t sum_step,
                              bool first) const {
    multiply_tiles_avx512(rows, {a, stride, {b[0], b[1]}, count, sums, sum_stride, sum_step, first});
  }
};

// The sums of a strip of complete panels.
template <bool Fused, int Rows, int Panels>
struct NarrowStrips {
  static constexpr int kRows = Rows, kPanels = Panels;
  static constexpr bool kFused = Fused;
  HWY_INLINE static void Multiply(const FloatGemmWork& of, const Strip strip, float* sums) {
    FloatStrip<Fused, Rows, Panels>(of.a.data, of.a.row_stride, strip, of.k, sums);
  }
};
template <int Rows>
struct WideStrips {
  static constexpr int kRows = Rows, kPanels = strip_panels_avx512(Rows);
  static constexpr bool kFused = true;
  static void Multiply(const FloatGemmWork& of, const Strip strip, float* sums) {
    multiply_strip_avx512(Rows, {of.a.data, of.a.row_stride, strip.b, strip.panel, strip.row, of.k, sums});
  }
};

// A few rows by a matrix that is packed or has contiguous rows. It is read once: bound by memory.
template <class Strips>
void FewRows(const FloatGemmWork& work, ThreadPool& pool) {
  constexpr int Rows = Strips::kRows, Panels = Strips::kPanels;
  static_assert(Rows <= kMostRows);
  struct Job {
    const FloatGemmWork& work;
    std::int64_t panels, complete;  // complete panels can be read where they are

    Strip From(std::int64_t panel) const {
      if (const float* packed = work.b->packed())
        return {packed + panel * work.k * kPanel, work.k * kPanel, kPanel};
      const MatrixView<float>& rows = *work.b->rows();
      return {rows.data + panel * kPanel, kPanel, rows.row_stride};
    }
  } const job{work, Ratio(work.n, kPanel), work.b->packed() ? Ratio(work.n, kPanel) : work.n / kPanel};
  const std::int64_t strip_macs = std::max<std::int64_t>(1, Rows * Panels * kPanel * work.k);
  pool.run(Ratio(job.panels, Panels), Ratio(kPartMacs, 4 * strip_macs),
           [&job](std::int64_t first, std::int64_t last) HWY_ATTR {
             const FloatGemmWork& of = job.work;
             const FloatMath<Strips::kFused> math(of);
             HWY_ALIGN float sums[Rows * Panels * kPanel];
             for (std::int64_t p = first * Panels; p < std::min(last * Panels, job.panels); p += Panels) {
               if (p + Panels <= job.complete) {
                 Strips::Multiply(of, job.From(p), sums);
                 for (int i = 0; i < Panels; ++i) math.Finish(sums + i * Rows * kPanel, 0, Rows, p + i);
                 continue;
               }
               for (std::int64_t i = p; i < std::min(p + Panels, job.panels); ++i) {
                 Strip strip = job.From(i);
                 if (i >= job.complete) {
                   auto* copy = reinterpret_cast<float*>(gemm_scratch(of.k * kPanel * 4));
                   strip = {of.b->panel(i, 0, of.k, copy), 0, kPanel};
                 }
                 FloatStrip<Strips::kFused, Rows, 1>(of.a.data, of.a.row_stride, strip, of.k, sums);
                 math.Finish(sums, 0, Rows, i);
               }
             }
           });
}

template <bool Fused>
void FewRowsGemm(const FloatGemmWork& work, ThreadPool& pool) {
  if (work.m == 1) FewRows<NarrowStrips<Fused, 1, 4>>(work, pool);
  if (work.m == 2) FewRows<NarrowStrips<Fused, 2, 2>>(work, pool);
  if (work.m == 3) FewRows<NarrowStrips<Fused, 3, 2>>(work, pool);
  if (work.m == 4) FewRows<NarrowStrips<Fused, 4, 1>>(work, pool);
}

// Unfused: the same bits on every target.
template <bool Fused>
void BlockGemm(const FloatGemmWork& work, ThreadPool& pool) {
  RunBlocks<FloatMath<Fused>>(work, 256, pool);
}

#if HWY_TARGET == HWY_AVX2
// CPUs with AVX-512 have a larger L2 cache: with blocks of more rows, B is read fewer times.
void Avx512Gemm(const FloatGemmWork& work, ThreadPool& pool) { RunBlocks<Avx512Math>(work, 384, pool, 192); }

void Avx512FewRows(const FloatGemmWork& work, ThreadPool& pool) {
  if (work.m == 1) FewRows<WideStrips<1>>(work, pool);
  if (work.m == 2) FewRows<WideStrips<2>>(work, pool);
  if (work.m == 3) FewRows<WideStrips<3>>(work, pool);
  if (work.m == 4) FewRows<WideStrips<4>>(work, pool);
}
#endif

// Packs a panel of columns, for B or its transpose.
void FloatPanel(const MatrixView<float>& b, std::int64_t columns, std::int64_t count, float* to) {
  if (b.column_stride == 1 && columns == kPanel) {
    for (std::int64_t k = 0; k < count; ++k) std::memcpy(to + k * kPanel, b.data + k * b.row_stride, 64);
    return;
  }
  if (columns < kPanel) std::memset(to, 0, static_cast<std::size_t>(count) * kPanel * sizeof(float));
  for (std::int64_t c = 0; c < columns; ++c) {
    const float* from = b.data + c * b.column_stride;
    for (std::int64_t k = 0; k < count; ++k) to[k * kPanel + c] = from[k * b.row_stride];
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {
namespace {

HWY_EXPORT(FloatPanel);

bool has_few_rows(const FloatGemmWork& work) {
  return work.m <= 4 && (work.b->packed() || work.b->rows()) && !work.rows && work.a.column_stride == 1;
}
bool has_many_rows(const FloatGemmWork& work) { return !has_few_rows(work); }
bool is_reproducible_with_few_rows(const FloatGemmWork& work) { return reproducible() && has_few_rows(work); }
bool is_reproducible(const FloatGemmWork&) { return reproducible(); }

}  // namespace

std::span<const Descriptor> gemm_float_simd_descriptors() {
  using enum Instructions;
  constexpr std::string_view kType = "float32";
  static const Descriptor all[] = {
      {"16 lanes", kType, "more than 4 rows", avx512, false, 0,
       FloatGemm{HWY_CHOOSE_AVX2(Avx512Gemm), has_many_rows}},
      {"16 lanes, few rows", kType, "1 to 4 rows, weights packed or by rows", avx512, false, 0,
       FloatGemm{HWY_CHOOSE_AVX2(Avx512FewRows), has_few_rows}},
      // In reproducible mode, products are rounded before they are added.
      {"unfused, few rows", kType, "1 to 4 rows, weights packed or by rows", avx2, true, 0,
       FloatGemm{HWY_CHOOSE_AVX2(FewRowsGemm<false>), is_reproducible_with_few_rows}},
      {"unfused", kType, "", avx2, true, 1, FloatGemm{HWY_CHOOSE_AVX2(BlockGemm<false>), is_reproducible}},
      {"few rows", kType, "1 to 4 rows, weights packed or by rows", avx2, false, 2,
       FloatGemm{HWY_CHOOSE_AVX2(FewRowsGemm<true>), has_few_rows}},
      {"blocks", kType, "", avx2, false, 3, FloatGemm{HWY_CHOOSE_AVX2(BlockGemm<true>)}},
      {"unfused, few rows", kType, "1 to 4 rows, weights packed or by rows", baseline, true, 0,
       FloatGemm{HWY_STATIC_DISPATCH(FewRowsGemm<false>), is_reproducible_with_few_rows}},
      {"unfused", kType, "", baseline, true, 1,
       FloatGemm{HWY_STATIC_DISPATCH(BlockGemm<false>), is_reproducible}},
      {"few rows", kType, "1 to 4 rows, weights packed or by rows", baseline, true, 2,
       FloatGemm{HWY_STATIC_DISPATCH(FewRowsGemm<true>), has_few_rows}},
      {"blocks", kType, "", baseline, true, 3, FloatGemm{HWY_STATIC_DISPATCH(BlockGemm<true>)}},
  };
  return all;
}

const float* PlainFloats::panel(std::int64_t index, std::int64_t k, std::int64_t count,
                                float* scratch) const {
  const MatrixView<float> at = {b_.data + k * b_.row_stride + index * kPanel * b_.column_stride,
                                b_.row_stride, b_.column_stride};
  HWY_DYNAMIC_DISPATCH(FloatPanel)(at, std::min(kPanel, n_ - index * kPanel), count, scratch);
  return scratch;
}

PackedFloats::PackedFloats(MatrixView<float> b, std::int64_t k, std::int64_t n)
    : k_(k), n_(n), memory_(aligned_bytes((n + kPanel - 1) / kPanel * k * kPanel * 4)) {
  const PlainFloats plain(b, n);
  float* to = reinterpret_cast<float*>(memory_.get());
  for (std::int64_t i = 0; i * kPanel < n; ++i) plain.panel(i, 0, k, to + i * k * kPanel);
}

std::int64_t PackedFloats::bytes() const { return (n_ + kPanel - 1) / kPanel * k_ * kPanel * 4; }

void gemm(const FloatGemmWork& work, ThreadPool& pool) {
  if (work.m <= 0 || work.n <= 0 || work.b->multiply(work, pool)) return;
  choose<FloatGemm>(work).run(work, pool);
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
