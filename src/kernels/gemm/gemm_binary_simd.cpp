// Binary GEMM by lookup tables: four values of A select a table, four values of B an entry in it, the number
// of values that agree. One byte shuffle looks up a vector of columns. Counts are kept in bytes while they
// fit, then in 16 bits, then in 32. CPUs with a vector popcount use that instead (gemm_binary_avx512.hpp).
#include "kernels/gemm/gemm_binary.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "kernels/choose.hpp"
#include "kernels/gemm/gemm_binary_avx512.hpp"
#include "kernels/gemm/gemm_scratch.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm_binary_simd.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef ANYBIT_BINARY_GEMM
#define ANYBIT_BINARY_GEMM
namespace anybit::kernels {

inline constexpr std::int64_t kTable = 16;              // entries: one for each four values of B
inline constexpr std::int64_t kStep = 2 * kTable;       // tables for eight values of A
inline constexpr std::int64_t kByteSteps = 31;          // 31 · 8 agreements fit a byte
inline constexpr std::int64_t kChunk = 5 * kByteSteps;  // steps whose tables fit the L1 cache
inline constexpr std::int64_t kMostRows = 4;

using AgreementTables = std::array<std::array<std::array<std::uint8_t, kTable>, 16>, 16>;

// [mask of the values that count][bits of A][bits of B]
inline constexpr AgreementTables kAgreements = [] {
  AgreementTables all{};
  for (unsigned there = 0; there < 16; ++there) {
    for (unsigned a = 0; a < 16; ++a) {
      for (unsigned b = 0; b < 16; ++b)
        all[there][a][b] = static_cast<std::uint8_t>(std::popcount(~(a ^ b) & there));
    }
  }
  return all;
}();

// The tables for eight values: `signs` has a bit for -1, `there` for a value that counts.
inline void write_tables(unsigned signs, unsigned there, std::uint8_t* to) {
  std::memcpy(to, kAgreements[there & 15][signs & 15].data(), kTable);
  std::memcpy(to + kTable, kAgreements[there >> 4][signs >> 4].data(), kTable);
}

// Gathers bit `bit` of each of eight bytes, the first in the lowest bit.
inline unsigned gather_bits(const std::uint8_t* from, int bit) {
  std::uint64_t all = 0;
  std::memcpy(&all, from, sizeof(all));
  return static_cast<unsigned>((all >> bit & 0x0101010101010101u) * 0x0102040810204080u >> 56);
}

// Calls write(signs, mask of those that count, step) for `steps` times eight bytes of Sign; returns how many
// count.
template <class Write>
std::int32_t for_binary(const std::uint8_t* from, std::int64_t steps, const Write& write) {
  std::int32_t count = 0;
  for (std::int64_t i = 0; i < steps; ++i, from += 8) {
    const unsigned there = ~gather_bits(from, 1) & 255;
    write(gather_bits(from, 0), there, i);
    count += std::popcount(there);
  }
  return count;
}

// Rows of A and panels of B that one thread multiplies.
struct BinaryPart {
  std::int64_t row, rows, panel, panels;
};

}  // namespace anybit::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kWide = PackedBinary::kColumns;

// The sign bits of eight values, the first in the lowest bit.
HWY_INLINE unsigned Signs(const float* HWY_RESTRICT from) {
  const hn::CappedTag<float, 8> d;
  constexpr unsigned kLanes = static_cast<unsigned>(hn::MaxLanes(hn::CappedTag<float, 8>()));
  unsigned all = 0;
  for (unsigned i = 0; i < 8; i += kLanes) {
    std::uint8_t bits[8];
    hn::StoreMaskBits(d, hn::Lt(hn::LoadU(d, from + i), hn::Zero(d)), bits);
    all |= static_cast<unsigned>(bits[0]) << i;
  }
  return all;
}

// Writes the tables of `count` elements of a row; tables of consecutive steps are `stride` bytes apart.
HWY_INLINE void WriteTables(const float* HWY_RESTRICT from, std::int64_t count, std::uint8_t* HWY_RESTRICT to,
                            std::int64_t stride) {
  std::int64_t i = 0;
  for (; i + 8 <= count; i += 8, to += stride) write_tables(Signs(from + i), 255, to);
  if (i == count) return;
  float last[8] = {};
  std::copy(from + i, from + count, last);
  write_tables(Signs(last), (1u << (count - i)) - 1, to);
}

// Counts how often kRows rows agree with the columns of a panel and adds to `sums`, whose rows are `stride`
// apart.
#if HWY_TARGET == HWY_SCALAR
constexpr std::int64_t kRowsAtOnce = 1;
template <std::int64_t kRows>
HWY_INLINE void CountPanel(const std::uint8_t* HWY_RESTRICT tables, const std::uint8_t* HWY_RESTRICT panel,
                           std::int64_t steps, std::int32_t* HWY_RESTRICT sums, std::int64_t) {
  for (std::int64_t step = 0; step < steps; ++step, tables += kStep, panel += kWide) {
    for (std::int64_t c = 0; c < kWide; ++c)
      sums[c] += tables[panel[c] & 15] + tables[kTable + (panel[c] >> 4)];
  }
}
#else
using DB = hn::CappedTag<std::uint8_t, 32>;
using DH = hn::Repartition<std::uint16_t, DB>;
using DW = hn::Repartition<std::int32_t, DB>;
constexpr std::int64_t kLanes = static_cast<std::int64_t>(hn::MaxLanes(DB()));
constexpr std::int64_t kVectors = kWide / kLanes;
constexpr std::int64_t kRowsAtOnce = kLanes == 32 ? kMostRows : 2;

// Keeps the compiler from reassociating additions, which would spill the sums from registers.
HWY_INLINE hn::Vec<DB> InOrder(hn::Vec<DB> sum) {
#if defined(__GNUC__) && HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128
  auto raw = sum.raw;
  asm("" : "+x"(raw));
  sum.raw = raw;
#endif
  return sum;
}

// At most kByteSteps steps.
template <std::int64_t kRows>
HWY_INLINE void CountBytes(const std::uint8_t* HWY_RESTRICT tables, const std::uint8_t* HWY_RESTRICT panel,
                           std::int64_t steps, hn::Vec<DB> (&sums)[kRows][kVectors]) {
  const DB d;
  const auto mask = hn::Set(d, 15);
  for (std::int64_t r = 0; r < kRows; ++r) {
    for (std::int64_t v = 0; v < kVectors; ++v) sums[r][v] = hn::Zero(d);
  }
  for (std::int64_t step = 0; step < steps; ++step, tables += kRows * kStep, panel += kWide) {
    for (int half = 0; half < 2; ++half) {
      hn::Vec<DB> signs[kVectors];
      for (std::int64_t v = 0; v < kVectors; ++v) {
        const auto both = hn::LoadU(d, panel + v * kLanes);
        const auto high = hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(DH(), both)));
        signs[v] = hn::And(half == 0 ? both : high, mask);
      }
      for (std::int64_t r = 0; r < kRows; ++r) {
        const auto table = hn::LoadDup128(d, tables + r * kStep + half * kTable);
        for (std::int64_t v = 0; v < kVectors; ++v) {
          sums[r][v] = InOrder(hn::Add(sums[r][v], hn::TableLookupBytes(table, signs[v])));
        }
      }
    }
  }
}

// Adds the sums of a vector of columns, those of even and of odd columns, 16 bits each.
HWY_INLINE void AddTo(std::int32_t* HWY_RESTRICT sums, hn::Vec<DH> even, hn::Vec<DH> odd) {
  const DH d;
  const DW dw;
  const hn::Half<DH> half;
  alignas(32) std::uint16_t ordered[kLanes];
  hn::StoreInterleaved2(even, odd, d, ordered);
  constexpr std::int64_t kWords = kLanes / 4;
  for (std::int64_t i = 0; i < kLanes; i += kWords) {
    const auto more = hn::PromoteTo(dw, hn::LoadU(half, ordered + i));
    hn::StoreU(hn::Add(hn::LoadU(dw, sums + i), more), dw, sums + i);
  }
}

template <std::int64_t kRows>
HWY_INLINE void CountPanel(const std::uint8_t* HWY_RESTRICT tables, const std::uint8_t* HWY_RESTRICT panel,
                           std::int64_t steps, std::int32_t* HWY_RESTRICT sums, std::int64_t stride) {
  const DH d;
  hn::Vec<DH> evens[kRows][kVectors], odds[kRows][kVectors];
  for (std::int64_t step = 0; step < steps; step += kByteSteps) {
    hn::Vec<DB> bytes[kRows][kVectors];
    CountBytes<kRows>(tables + step * kRows * kStep, panel + step * kWide, std::min(kByteSteps, steps - step),
                      bytes);
    for (std::int64_t r = 0; r < kRows; ++r) {
      for (std::int64_t v = 0; v < kVectors; ++v) {
        const auto pairs = hn::BitCast(d, bytes[r][v]);
        const auto even = hn::And(pairs, hn::Set(d, 255)), odd = hn::ShiftRight<8>(pairs);
        evens[r][v] = step == 0 ? even : hn::Add(evens[r][v], even);
        odds[r][v] = step == 0 ? odd : hn::Add(odds[r][v], odd);
      }
    }
  }
  for (std::int64_t r = 0; r < kRows; ++r) {
    for (std::int64_t v = 0; v < kVectors; ++v) {
      AddTo(sums + r * stride + v * kLanes, evens[r][v], odds[r][v]);
    }
  }
}
#endif

// The values of A as tables or as words; those of a step are adjacent, row by row.
struct InTables {
  static constexpr std::int64_t kBytes = kStep;  // for eight values

  static void Floats(const float* HWY_RESTRICT from, std::int64_t count, std::uint8_t* HWY_RESTRICT to,
                     std::int64_t rows) {
    WriteTables(from, count, to, rows * kStep);
  }
  static void Write(unsigned signs, unsigned there, std::uint8_t* to) { write_tables(signs, there, to); }
  template <std::int64_t kRows>
  static void Count(bool, const std::uint8_t* HWY_RESTRICT tables, const std::uint8_t* HWY_RESTRICT panel,
                    std::int64_t steps, std::int32_t* HWY_RESTRICT sums, std::int64_t stride) {
    CountPanel<kRows>(tables, panel, steps, sums, stride);
  }
};

struct InWords {
  static constexpr std::int64_t kBytes = sizeof(SignWords);

  static void Floats(const float* from, std::int64_t count, std::uint8_t* to, std::int64_t rows) {
    write_binary_avx512(from, count, reinterpret_cast<SignWords*>(to), rows);
  }
  static void Write(unsigned signs, unsigned there, std::uint8_t* to) {
    *reinterpret_cast<SignWords*>(to) = sign_words(signs, there);
  }
  template <std::int64_t kRows>
  static void Count(bool all, const std::uint8_t* words, const std::uint8_t* panel, std::int64_t steps,
                    std::int32_t* sums, std::int64_t stride) {
    count_binary_avx512(kRows, all, reinterpret_cast<const SignWords*>(words), panel, steps, sums, stride);
  }
};

HWY_INLINE void FinishRow(const BinaryGemmWork& work, std::int64_t row, std::int64_t first,
                          std::int64_t count, const std::int32_t* HWY_RESTRICT sums, std::int32_t k) {
  const float scale = work.scale, beta = work.beta;
  const float* HWY_RESTRICT factors = work.factors + first;
  float* HWY_RESTRICT to = work.c + row * work.c_stride + first;
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(2 * sums[i] - k) * (scale * factors[i]);
  if (!work.addend.data) return;
  const float* HWY_RESTRICT more = work.addend.data + row * work.addend.row_stride;
  if (work.addend.column_stride == 0) {
    for (std::int64_t i = 0; i < count; ++i) to[i] += beta * *more;
  } else {
    for (std::int64_t i = 0; i < count; ++i) to[i] += beta * more[first + i];
  }
}

// `count` elements of kRows rows from k on; adds the number of elements that count to `there`.
template <class As, std::int64_t kRows>
HWY_INLINE void ReadRows(const BinaryGemmWork& work, std::int64_t row, std::int64_t k, std::int64_t count,
                         std::uint8_t* HWY_RESTRICT to, std::int32_t* HWY_RESTRICT there) {
  if (!work.rows) {
    for (std::int64_t r = 0; r < kRows; ++r) {
      As::Floats(work.a + (row + r) * work.a_stride + k, count, to + r * As::kBytes, kRows);
      there[r] += static_cast<std::int32_t>(count);
    }
    return;
  }
  std::uint8_t signs[kRows][8 * kChunk];
  work.rows->read(row, kRows, k, count, signs, 8 * kChunk);
  const std::int64_t steps = (count + 7) / 8;
  for (std::int64_t r = 0; r < kRows; ++r) {
    std::fill(signs[r] + count, signs[r] + 8 * steps, static_cast<std::uint8_t>(Sign::none));
    there[r] += for_binary(signs[r], steps, [&](unsigned eight, unsigned count_of, std::int64_t step) {
      As::Write(eight, count_of, to + (step * kRows + r) * As::kBytes);
    });
  }
}

template <class As, std::int64_t kRows>
HWY_INLINE void MultiplyRows(const BinaryGemmWork& work, const BinaryPart& part) {
  const PackedBinary& b = *work.b;
  const std::int64_t wide = part.panels * kWide, bytes = kRows * kChunk * As::kBytes;
  auto* signs = reinterpret_cast<std::uint8_t*>(
      gemm_scratch(bytes + kRows * wide * static_cast<std::int64_t>(sizeof(std::int32_t))));
  auto* sums = reinterpret_cast<std::int32_t*>(signs + bytes);
  std::fill(sums, sums + kRows * wide, 0);
  std::int32_t there[kRows] = {};
  for (std::int64_t step = 0; step < b.depth(); step += kChunk) {
    const std::int64_t steps = std::min(kChunk, b.depth() - step);
    ReadRows<As, kRows>(work, part.row, 8 * step, std::min(8 * steps, b.k() - 8 * step), signs, there);
    for (std::int64_t p = 0; p < part.panels; ++p) {
      As::template Count<kRows>(work.rows == nullptr, signs, b.panel(part.panel + p) + step * kWide, steps,
                                sums + p * kWide, wide);
    }
  }
  const std::int64_t first = part.panel * kWide, count = std::min(wide, b.n() - first);
  for (std::int64_t r = 0; r < kRows; ++r)
    FinishRow(work, part.row + r, first, count, sums + r * wide, there[r]);
}

template <class As, std::int64_t kRows>
HWY_INLINE void MultiplyAll(const BinaryGemmWork& work, BinaryPart part) {
  const std::int64_t end = part.row + part.rows;
  for (; part.row + kRows <= end; part.row += kRows) MultiplyRows<As, kRows>(work, part);
  for (; part.row < end; ++part.row) MultiplyRows<As, 1>(work, part);
}

void MultiplyByTables(const BinaryGemmWork& work, const BinaryPart& part) {
  MultiplyAll<InTables, kRowsAtOnce>(work, part);
}

#if HWY_TARGET == HWY_AVX2
void MultiplyByCounts(const BinaryGemmWork& work, const BinaryPart& part) {
  MultiplyAll<InWords, kMostRows>(work, part);
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

std::span<const Descriptor> gemm_binary_simd_descriptors() {
  using enum Instructions;
  constexpr std::string_view kTypes = "float32 by binary";
  static const Descriptor all[] = {
      {"popcount", kTypes, "", avx512_bitalg, false, 0, BinaryGemm{HWY_CHOOSE_AVX2(MultiplyByCounts)}},
      {"tables", kTypes, "", avx2, false, 0, BinaryGemm{HWY_CHOOSE_AVX2(MultiplyByTables)}},
      {"tables", kTypes, "", baseline, true, 0, BinaryGemm{HWY_STATIC_DISPATCH(MultiplyByTables)}},
  };
  return all;
}

PackedBinary::PackedBinary(std::int64_t k, std::int64_t n,
                           const std::function<bool(std::int64_t, std::int64_t)>& negative)
    : k_(k), n_(n), memory_(aligned_bytes(bytes())) {
  auto* all = reinterpret_cast<std::uint8_t*>(memory_.get());
  std::fill(all, all + bytes(), std::uint8_t{0});
  for (std::int64_t column = 0; column < n; ++column) {
    std::uint8_t* to = all + column / kColumns * depth() * kColumns + column % kColumns;
    for (std::int64_t row = 0; row < k; ++row) {
      if (negative(row, column)) to[row / 8 * kColumns] |= static_cast<std::uint8_t>(1u << row % 8);
    }
  }
}

void binarize(const float* from, std::int64_t count, std::uint8_t* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] < 0 ? 1 : 0;
}

void multiply(const BinaryGemmWork& work, ThreadPool& pool) {
  // Many rows: all columns at once, so that A's tables are built once. Few rows: the columns are split among
  // threads.
  constexpr std::int64_t kManyRows = 32, kPanelsOfFew = 4;
  const std::int64_t all = work.b->panels();
  const std::int64_t rows = work.m >= kManyRows ? 2 * kMostRows : kMostRows;
  const std::int64_t panels = work.m >= kManyRows ? std::max<std::int64_t>(all, 1) : kPanelsOfFew;
  const std::int64_t across = (all + panels - 1) / panels, down = (work.m + rows - 1) / rows;
  const BinaryGemm& kernel = choose<BinaryGemm>(work);
  pool.run(across * down, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      // From the last row on: those were read last, for the mean of A, and are still in the cache.
      const std::int64_t row = (down - 1 - i / across) * rows, panel = i % across * panels;
      const BinaryPart part{row, std::min(rows, work.m - row), panel, std::min(panels, all - panel)};
      kernel.run(work, part);
    }
  });
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
