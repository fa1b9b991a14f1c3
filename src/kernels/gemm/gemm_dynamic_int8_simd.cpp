// Dynamic int8 GEMM. Four elements of a column that are consecutive in k are in one 32-bit lane, so that dot4
// sums stay in their column's lane.
#include "kernels/gemm/gemm_dynamic_int8.hpp"

#include <cmath>

#include "kernels/choose.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm_dynamic_int8_simd.cpp"
#include "hwy/foreach_target.h"
#include "kernels/gemm/gemm_epilogue-inl.h"

#ifndef ANYBIT_KERNELS_ROUNDED_ROWS_
#define ANYBIT_KERNELS_ROUNDED_ROWS_
namespace anybit::kernels {

// Rows of A quantized to int8: `stride` numbers per row, full groups for each run; scales and sums of numbers
// by run.
struct RoundedRows {
  std::int64_t stride = 0, runs = 0;
  std::int8_t* numbers = nullptr;
  float* scales = nullptr;
  std::int32_t* sums = nullptr;
};

struct DynamicGemmWork {
  const NumberView& view;
  const FloatGemmWork& work;
  const RoundedRows& rounded;
};

}  // namespace anybit::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

using VI = hn::Vec<DI>;

// `x` is padded to full groups. A run with NaN or infinity gets a scale of NaN, and so do its results.
HWY_INLINE void RoundRun(const float* HWY_RESTRICT x, std::int64_t count, std::int8_t* HWY_RESTRICT to,
                         float& scale, std::int32_t& sum) {
  const DF d;
  const DI di;
  const hn::Rebind<std::int8_t, DF> bytes;
  VI largest = hn::Zero(di);  // bits of magnitudes sort like magnitudes, infinity and NaN last
  for (std::int64_t i = 0; i < count; i += kLanes)
    largest = hn::Max(largest, hn::BitCast(di, hn::Abs(hn::LoadU(d, x + i))));
  const float most = hn::GetLane(hn::BitCast(d, hn::MaxOfLanes(di, largest)));
  scale = std::isfinite(most) ? most / 127.0f : std::numeric_limits<float>::quiet_NaN();
  const bool any = scale > 0;
  const VF by = hn::Set(d, any ? scale : 1.0f), limit = hn::Set(d, 127.0f);
  VI total = hn::Zero(di);
  for (std::int64_t i = 0; i < count; i += kLanes) {
    // Scales below the normal range are rounded themselves, so the quotient has to be clamped.
    const VF steps = hn::Max(hn::Min(hn::Div(hn::LoadU(d, x + i), by), limit), hn::Neg(limit));
    const VI integer = any ? hn::NearestInt(steps) : hn::Zero(di);
    total = hn::Add(total, integer);
    hn::StoreU(hn::DemoteTo(bytes, integer), bytes, to + i);
  }
  sum = hn::GetLane(hn::SumOfLanes(di, total));
}

void RoundRows(const NumberView& view, const FloatGemmWork& work, const RoundedRows& rounded,
               ThreadPool& pool) {
  struct Job {
    const NumberView& view;
    const MatrixView<float>& a;
    const RoundedRows& rounded;
  } const job{view, work.a, rounded};
  pool.run(work.m, Ratio(1 << 16, work.k), [&job](std::int64_t first, std::int64_t last) HWY_ATTR {
    HWY_ALIGN float padded[kRunRows];
    for (std::int64_t r = first; r < last; ++r) {
      std::int8_t* to = job.rounded.numbers + r * job.rounded.stride;
      std::int64_t run_index = r * job.rounded.runs;
      for (const Run& run : job.view.runs) {
        const float* x = job.a.data + r * job.a.row_stride + run.first;
        const std::int64_t count = run.groups * kDot4Group;
        if (run.count != count) {
          std::copy_n(x, run.count, padded);
          std::fill(padded + run.count, padded + count, 0.0f);
          x = padded;
        }
        RoundRun(x, count, to, job.rounded.scales[run_index], job.rounded.sums[run_index]);
        to += count;
        ++run_index;
      }
    }
  });
}

#if HWY_TARGET == HWY_SCALAR
// The numbers of a group, by column.
template <NumberKind kKind>
HWY_INLINE void GroupSums(const NumberView& view, const std::uint8_t* codes, const std::int8_t* x,
                          std::int32_t (&dots)[kPanel]) {
  for (std::int64_t i = 0; i < kDot4Group * kPanel; ++i) {
    const std::int64_t dot4_group = i / (4 * kPanel), in = i % (4 * kPanel);
    int number = 0;
    if (kKind == NumberKind::bytes) {
      number = static_cast<std::int8_t>(codes[i]);
    } else {
      number = codes[dot4_group / 2 * 4 * kPanel + in] >> dot4_group % 2 * 4 & 15;
      if (kKind == NumberKind::table) number = view.table[number];
    }
    dots[in / 4] += number * x[dot4_group * 4 + in % 4];
  }
}

template <NumberKind kKind, int Rows, int Panels>
HWY_INLINE void RunSums(const NumberView& view, const std::uint8_t* HWY_RESTRICT codes,
                        std::int64_t panel_bytes, const std::int8_t* HWY_RESTRICT x, std::int64_t stride,
                        std::int64_t groups, VI (&dots)[Panels][Rows][kVectors]) {
  for (int p = 0; p < Panels; ++p) {
    for (int r = 0; r < Rows; ++r) {
      std::int32_t sums[kPanel] = {};
      for (std::int64_t g = 0; g < groups; ++g)
        GroupSums<kKind>(view, codes + p * panel_bytes + g * view.group_bytes(),
                         x + r * stride + g * kDot4Group, sums);
      for (int v = 0; v < kVectors; ++v) dots[p][r][v] = hn::Set(DI(), sums[v]);
    }
  }
}
#else
using DU8 = hn::Repartition<std::uint8_t, DI>;
using DI8 = hn::Repartition<std::int8_t, DI>;
using DI16 = hn::Repartition<std::int16_t, DI>;
using VU8 = hn::Vec<DU8>;
using VI8 = hn::Vec<DI8>;
using VI16 = hn::Vec<DI16>;

// Sums of two adjacent products. They fit 16 bits: numbers of B are up to 32 or, signed, from -128 on, and
// rows of A are from -127 to 127.
#if HWY_TARGET == HWY_AVX2
HWY_INLINE VI16 Pairs(VU8 number, VI8 x) { return VI16{_mm256_maddubs_epi16(number.raw, x.raw)}; }
HWY_INLINE VI16 Pairs(VI8 number, VI8 x) {
  return VI16{_mm256_maddubs_epi16(_mm256_abs_epi8(number.raw), _mm256_sign_epi8(x.raw, number.raw))};
}
HWY_INLINE VI Pairs(VI16 sums) { return VI{_mm256_madd_epi16(sums.raw, _mm256_set1_epi16(1))}; }
#elif HWY_TARGET == HWY_SSE4
HWY_INLINE VI16 Pairs(VU8 number, VI8 x) { return VI16{_mm_maddubs_epi16(number.raw, x.raw)}; }
HWY_INLINE VI16 Pairs(VI8 number, VI8 x) {
  return VI16{_mm_maddubs_epi16(_mm_abs_epi8(number.raw), _mm_sign_epi8(x.raw, number.raw))};
}
HWY_INLINE VI Pairs(VI16 sums) { return VI{_mm_madd_epi16(sums.raw, _mm_set1_epi16(1))}; }
#else
HWY_INLINE VI16 Pairs(VI8 number, VI8 x) {
  const DI16 d;
  const VI16 n = hn::BitCast(d, number), y = hn::BitCast(d, x);
  const VI16 even = hn::Mul(hn::ShiftRight<8>(hn::ShiftLeft<8>(n)), hn::ShiftRight<8>(hn::ShiftLeft<8>(y)));
  return hn::Add(even, hn::Mul(hn::ShiftRight<8>(n), hn::ShiftRight<8>(y)));
}
HWY_INLINE VI16 Pairs(VU8 number, VI8 x) { return Pairs(hn::BitCast(DI8(), number), x); }
HWY_INLINE VI Pairs(VI16 sums) {
  const VI both = hn::BitCast(DI(), sums);
  return hn::Add(hn::ShiftRight<16>(hn::ShiftLeft<16>(both)), hn::ShiftRight<16>(both));
}
#endif

// Broadcasts four consecutive numbers of a row to all lanes.
HWY_INLINE VI8 Dot4(const std::int8_t* x) {
  std::int32_t four;
  std::memcpy(&four, x, sizeof(four));
  return hn::BitCast(DI8(), hn::Set(DI(), four));
}

// The numbers of a group for a vector of columns: `dot4_groups` of four rows each.
template <NumberKind kKind>
struct Numbers {
  VU8 dot4_groups[4];
  HWY_INLINE Numbers(const NumberView& view, const std::uint8_t* HWY_RESTRICT from) {
    const DU8 d;
    HWY_UNROLL(2)
    for (int i = 0; i < 2; ++i) {
      const VU8 both = hn::LoadU(d, from + i * 4 * kPanel);
      const VU8 upper = hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(hn::RebindToUnsigned<DI16>(), both)));
      dot4_groups[2 * i] = hn::And(both, hn::Set(d, 15));
      dot4_groups[2 * i + 1] = hn::And(upper, hn::Set(d, 15));
    }
    if (kKind == NumberKind::table) {
      const VU8 table = hn::LoadDup128(d, view.table);
      HWY_UNROLL(4)
      for (int i = 0; i < 4; ++i) dot4_groups[i] = hn::TableLookupBytes(table, dot4_groups[i]);
    }
  }
  HWY_INLINE VI Dot(const VI8 (&x)[4]) const {
    const VI16 first = hn::Add(Pairs(dot4_groups[0], x[0]), Pairs(dot4_groups[1], x[1]));
    return Pairs(hn::Add(first, hn::Add(Pairs(dot4_groups[2], x[2]), Pairs(dot4_groups[3], x[3]))));
  }
};
template <>
struct Numbers<NumberKind::bytes> {
  VI8 dot4_groups[4];
  HWY_INLINE Numbers(const NumberView&, const std::uint8_t* HWY_RESTRICT from) {
    const auto* at = reinterpret_cast<const std::int8_t*>(from);
    HWY_UNROLL(4)
    for (int i = 0; i < 4; ++i) dot4_groups[i] = hn::LoadU(DI8(), at + i * 4 * kPanel);
  }
  HWY_INLINE VI Dot(const VI8 (&x)[4]) const {
    const VI first = hn::Add(Pairs(Pairs(dot4_groups[0], x[0])), Pairs(Pairs(dot4_groups[1], x[1])));
    return hn::Add(first, hn::Add(Pairs(Pairs(dot4_groups[2], x[2])), Pairs(Pairs(dot4_groups[3], x[3]))));
  }
};

constexpr std::int64_t kAheadBytes = 1024;  // prefetch distance per panel; bound by memory

template <NumberKind kKind, int Rows, int Panels>
HWY_INLINE void RunSums(const NumberView& view, const std::uint8_t* HWY_RESTRICT codes,
                        std::int64_t panel_bytes, const std::int8_t* HWY_RESTRICT x, std::int64_t stride,
                        std::int64_t groups, VI (&dots)[Panels][Rows][kVectors]) {
  constexpr std::int64_t kBytes = kDot4Group * kPanel / (kKind == NumberKind::bytes ? 1 : 2);
  HWY_UNROLL(4)
  for (int p = 0; p < Panels; ++p) {
    HWY_UNROLL(4)
    for (int r = 0; r < Rows; ++r) {
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) dots[p][r][v] = hn::Zero(DI());
    }
  }
  for (std::int64_t g = 0; g < groups; ++g) {
    HWY_UNROLL(4)
    for (int p = 0; p < Panels; ++p) {
      const std::uint8_t* HWY_RESTRICT at = codes + p * panel_bytes + g * kBytes;
      HWY_UNROLL(4)
      for (std::int64_t line = 0; line < kBytes; line += 64) __builtin_prefetch(at + kAheadBytes + line);
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        const Numbers<kKind> numbers(view, at + v * kLanes * 4);
        HWY_UNROLL(4)
        for (int r = 0; r < Rows; ++r) {
          const std::int8_t* HWY_RESTRICT row = x + r * stride + g * kDot4Group;
          const VI8 dot4_groups[4] = {Dot4(row), Dot4(row + 4), Dot4(row + 8), Dot4(row + 12)};
          dots[p][r][v] = hn::Add(dots[p][r][v], numbers.Dot(dot4_groups));
        }
      }
    }
  }
}
#endif

// A few rows by some panels; sums are [panel][row][16].
template <NumberKind kKind, bool Zeros, int Rows, int Panels>
HWY_NOINLINE void NumberStrip(const NumberView& view, const RoundedRows& rounded, std::int64_t panel,
                              std::int64_t row, float* HWY_RESTRICT sums) {
  const DF d;
  std::fill_n(sums, Panels * Rows * kPanel, 0.0f);
  const std::int64_t panel_bytes = view.groups * view.group_bytes();
  const std::uint8_t* HWY_RESTRICT codes = view.codes + panel * panel_bytes;
  const std::int8_t* HWY_RESTRICT x = rounded.numbers + row * rounded.stride;
  const float* HWY_RESTRICT scales = rounded.scales + row * rounded.runs;
  const std::int32_t* HWY_RESTRICT totals = rounded.sums + row * rounded.runs;
  for (const Run& run : view.runs) {
    VI dots[Panels][Rows][kVectors];
    RunSums<kKind, Rows, Panels>(view, codes, panel_bytes, x, rounded.stride, run.groups, dots);
    HWY_UNROLL(4)
    for (int p = 0; p < Panels; ++p) {
      const std::int64_t block = ((panel + p) * view.blocks + run.block) * kPanel;
      HWY_UNROLL(4)
      for (int v = 0; v < kVectors; ++v) {
        const VF factor = hn::LoadU(d, view.factors + block + v * kLanes);
        HWY_UNROLL(4)
        for (int r = 0; r < Rows; ++r) {
          const std::int32_t total = totals[r * rounded.runs];
          VF dot = hn::ConvertTo(d, hn::Sub(dots[p][r][v], hn::Set(DI(), view.offset * total)));
          if (Zeros) {
            const VF zero = hn::LoadU(d, view.zeros + block + v * kLanes);
            dot = hn::Sub(dot, hn::Mul(zero, hn::Set(d, static_cast<float>(total))));
          }
          const VF scale = hn::Mul(factor, hn::Set(d, scales[r * rounded.runs]));
          float* to = sums + (p * Rows + r) * kPanel + v * kLanes;
          hn::Store(hn::MulAdd(dot, scale, hn::Load(d, to)), d, to);
        }
      }
    }
    codes += run.groups * view.group_bytes();
    x += run.groups * kDot4Group;
    ++scales;
    ++totals;
  }
}

// All rows by some panels.
template <NumberKind kKind, bool Zeros, int Panels>
HWY_INLINE void NumberPanels(const NumberView& view, const FloatGemmWork& work, const RoundedRows& rounded,
                             std::int64_t panel) {
  HWY_ALIGN float sums[3 * Panels * kPanel];
  const auto strip = [&]<int Rows>(std::int64_t row) HWY_ATTR {
    NumberStrip<kKind, Zeros, Rows, Panels>(view, rounded, panel, row, sums);
    for (int p = 0; p < Panels; ++p) FinishTile(work, sums + p * Rows * kPanel, row, Rows, panel + p);
  };
  std::int64_t row = 0;
  for (; Panels == 1 && row + 3 <= work.m; row += 3) strip.template operator()<3>(row);
  for (; row < work.m; ++row) strip.template operator()<1>(row);
}

template <NumberKind kKind, bool Zeros>
void MultiplyNumbers(const NumberView& view, const FloatGemmWork& work, const RoundedRows& rounded,
                     ThreadPool& pool) {
  struct Job {
    const NumberView& view;
    const FloatGemmWork& work;
    const RoundedRows& rounded;
    std::int64_t panels;
  } const job{view, work, rounded, Ratio(work.n, kPanel)};
  // Two panels at a time: with one row, the row's numbers are read half as often.
  const std::int64_t macs = std::max<std::int64_t>(1, 2 * kPanel * work.m * work.k);
  pool.run(Ratio(job.panels, 2), Ratio(kPartMacs, macs),
           [&job](std::int64_t first, std::int64_t last) HWY_ATTR {
             for (std::int64_t p = first * 2; p < std::min(last * 2, job.panels); p += 2) {
               if (job.work.m < 3 && p + 2 <= job.panels) {
                 NumberPanels<kKind, Zeros, 2>(job.view, job.work, job.rounded, p);
                 continue;
               }
               for (std::int64_t i = p; i < std::min(p + 2, job.panels); ++i)
                 NumberPanels<kKind, Zeros, 1>(job.view, job.work, job.rounded, i);
             }
           });
}

void MultiplyRounded(const DynamicGemmWork& all, ThreadPool& pool) {
  const NumberView& view = all.view;
  const FloatGemmWork& work = all.work;
  const RoundedRows& rounded = all.rounded;
  RoundRows(view, work, rounded, pool);
  const auto with = [&]<NumberKind kKind>() {
    if (view.zeros) return MultiplyNumbers<kKind, true>(view, work, rounded, pool);
    MultiplyNumbers<kKind, false>(view, work, rounded, pool);
  };
  switch (view.kind) {
    case NumberKind::nibbles:
      return with.template operator()<NumberKind::nibbles>();
    case NumberKind::table:
      return with.template operator()<NumberKind::table>();
    case NumberKind::bytes:
      return with.template operator()<NumberKind::bytes>();
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {
namespace {

constexpr std::int64_t kRowsAtOnce = 96;  // quantized, they fit the L2 cache

}  // namespace

std::span<const Descriptor> gemm_dynamic_int8_simd_descriptors() {
  using enum Instructions;
  constexpr std::string_view kTypes = "float32 by 4 or 8 bits";
  static const Descriptor all[] = {
      {"runs of 32", kTypes, "", avx2, false, 0, DynamicGemm{HWY_CHOOSE_AVX2(MultiplyRounded)}},
      {"runs of 32", kTypes, "", baseline, true, 0, DynamicGemm{HWY_STATIC_DISPATCH(MultiplyRounded)}},
  };
  return all;
}

bool DynamicInt8Weights::multiply(const FloatGemmWork& work, ThreadPool& pool) const {
  if (work.rows || work.a.column_stride != 1) return false;
  RoundedRows rounded{view_.groups * kDot4Group, static_cast<std::int64_t>(view_.runs.size())};
  const std::int64_t rows = std::min(work.m, kRowsAtOnce);
  const std::int64_t numbers = rows * rounded.stride, runs = rows * rounded.runs;
  std::byte* scratch = gemm_scratch(numbers + runs * 8);  // numbers come in groups of 16: aligned
  rounded.numbers = reinterpret_cast<std::int8_t*>(scratch);
  rounded.scales = reinterpret_cast<float*>(scratch + numbers);
  rounded.sums = reinterpret_cast<std::int32_t*>(scratch + numbers + runs * 4);
  for (std::int64_t row = 0; row < work.m; row += kRowsAtOnce) {
    FloatGemmWork part = work;
    part.m = std::min(kRowsAtOnce, work.m - row);
    part.a.data += row * work.a.row_stride;
    part.c += row * work.c_stride;
    Spread<float>& addend = part.epilogue.addend;
    if (addend.data) addend.data += row * addend.row_stride;
    const DynamicGemmWork all{view_, part, rounded};
    choose<DynamicGemm>(all).run(all, pool);
  }
  return true;
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
