// The blocked loops of every GEMM, included once for each SIMD target. A block of A stays in the L2 cache, a
// panel of B in L1, a tile of C in registers.
#if defined(ANYBIT_KERNELS_GEMM_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ANYBIT_KERNELS_GEMM_BLOCKS_INL_H_
#undef ANYBIT_KERNELS_GEMM_BLOCKS_INL_H_
#else
#define ANYBIT_KERNELS_GEMM_BLOCKS_INL_H_
#endif

#include <algorithm>
#include <cstring>

#include "hwy/highway.h"
#include "kernels/gemm/gemm.hpp"
#include "kernels/gemm/gemm_scratch.hpp"

// g++ 12 spills accumulators to memory unless each is pinned to a register once per iteration.
#undef ANYBIT_PIN
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128 && HWY_TARGET != HWY_SCALAR && defined(__GNUC__) && \
    !defined(__clang__)
#define ANYBIT_PIN(vector) asm("" : "+x"((vector).raw))
#else
#define ANYBIT_PIN(vector) static_cast<void>(vector)
#endif

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DF = hn::CappedTag<float, kPanel>;
using DI = hn::RebindToSigned<DF>;
inline constexpr int kLanes = static_cast<int>(hn::MaxLanes(DF()));
inline constexpr int kVectors = static_cast<int>(kPanel) / kLanes;  // of one row of a tile
// Rows of a tile: as many as fit the registers beside a row of B and an element of A.
#if HWY_TARGET <= HWY_AVX3
inline constexpr int kTileRows = 12;
#elif HWY_TARGET == HWY_AVX2
inline constexpr int kTileRows = 6;
#else
inline constexpr int kTileRows = 3;
#endif

inline constexpr std::int64_t kBlockRows = 96;
inline constexpr std::int64_t kBlockPanels = 16;
// A thread's part of the work takes at least some ten microseconds.
inline constexpr std::int64_t kPartMacs = 1 << 20;

inline std::int64_t Ratio(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Blocking of a GEMM; depends on the sizes only.
struct Cut {
  std::int64_t rows, panels, depth;  // of one block
  std::int64_t row_blocks, panel_blocks, depth_blocks;

  Cut(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t max_depth,
      std::int64_t max_rows = kBlockRows) {
    row_blocks = Ratio(m, max_rows);
    rows = Ratio(Ratio(m, row_blocks), kTileRows) * kTileRows;
    row_blocks = Ratio(m, rows);
    const std::int64_t all = Ratio(n, kPanel);
    const std::int64_t panel_macs = std::max<std::int64_t>(1, std::min(m, rows) * kPanel * k);
    const std::int64_t wanted = std::max<std::int64_t>(1, 16 / row_blocks);
    panels = std::max(Ratio(kPartMacs, panel_macs), std::min(kBlockPanels, Ratio(all, wanted)));
    panels = std::min(Ratio(panels, 2) * 2, all);  // the widest kernels take two at a time
    panel_blocks = Ratio(all, panels);
    panels = std::min(Ratio(Ratio(all, panel_blocks), 2) * 2, all);
    panel_blocks = Ratio(all, panels);
    depth_blocks = std::max<std::int64_t>(1, Ratio(k, max_depth));
    depth = Ratio(Ratio(k, depth_blocks), 4) * 4;
    depth_blocks = std::max<std::int64_t>(1, depth == 0 ? 1 : Ratio(k, depth));
  }
  std::int64_t chunk(std::int64_t k) const {
    return Ratio(kPartMacs, std::max<std::int64_t>(1, rows * panels * kPanel * k));
  }
};

// One block of C. Math provides
//   A, B, Sum                   element types of A and B as the micro-kernel takes them, and of sums
//   LeftBytes, RightBytes       scratch for a block of A and for a panel of B
//   Left(row, rows, k, count, scratch, stride)   packs rows of A; returns their address and stride
//   Right(panel, k, count, scratch)              returns a panel of B
//   Ahead(panel, k), kRowBytes  address to prefetch it from, or null
//   Direct(row, panel, stride)  where to write sums if they are elements of C already; otherwise null
//   Multiply(rows, a, stride, b, count, sums, sum_stride, first)   micro-kernel of a tile: sums = or += a·b
//   kTogether                   panels multiplied at once; if two, by MultiplyTwo(…)
//   Finish(sums, row, rows, panel)               epilogue of a tile of C
template <class Math>
HWY_INLINE void RunBlock(Math& math, const Cut& cut, std::int64_t m, std::int64_t n, std::int64_t k,
                         std::int64_t block) {
  const std::int64_t row0 = block / cut.panel_blocks * cut.rows, rows = std::min(cut.rows, m - row0);
  const std::int64_t panel0 = block % cut.panel_blocks * cut.panels;
  const std::int64_t panels = std::min(cut.panels, Ratio(n, kPanel) - panel0);
  const bool single = cut.depth_blocks == 1;
  const std::int64_t padded_rows = Ratio(rows, kTileRows) * kTileRows;

  using A = typename Math::A;
  using B = typename Math::B;
  using Sum = typename Math::Sum;
  constexpr int kTogether = Math::kTogether;
  const std::int64_t a_bytes = math.LeftBytes(cut.rows, cut.depth);
  const std::int64_t b_bytes = kTogether * math.RightBytes(cut.depth);
  const std::int64_t tile = kTileRows * kPanel;
  const std::int64_t sum_count = single ? kTogether * tile : padded_rows * kPanel * panels;
  std::byte* scratch = gemm_scratch(a_bytes + b_bytes + sum_count * static_cast<std::int64_t>(sizeof(Sum)));
  B* b_scratch = reinterpret_cast<B*>(scratch + a_bytes);
  Sum* sums = reinterpret_cast<Sum*>(scratch + a_bytes + b_bytes);

  for (std::int64_t step = 0; step < cut.depth_blocks; ++step) {
    const std::int64_t k0 = step * cut.depth, count = std::min(cut.depth, k - k0);
    std::int64_t stride = 0;
    const A* a = math.Left(row0, rows, k0, count, scratch, stride);
    for (std::int64_t p = 0; p < panels; p += kTogether) {
      const auto beside = static_cast<int>(std::min<std::int64_t>(kTogether, panels - p));
      const B* b[kTogether];
      for (int i = 0; i < beside; ++i)
        b[i] = math.Right(panel0 + p + i, k0, count, b_scratch + i * cut.depth * kPanel);
      // The next panels are prefetched while these are used, a share with each tile.
      const std::byte* ahead[kTogether] = {};
      for (int i = 0; i < kTogether && p + kTogether + i < panels; ++i)
        ahead[i] = math.Ahead(panel0 + p + kTogether + i, k0);
      const std::int64_t share = Ratio(Ratio(count * Math::kRowBytes, 64), padded_rows / kTileRows);
      for (std::int64_t r = 0; r < rows; r += kTileRows) {
        const int tile_rows = static_cast<int>(std::min<std::int64_t>(kTileRows, rows - r));
        std::int64_t at_stride = kPanel, at_step = kPanel;
        // If the last panel may be written directly, so may those before it.
        Sum* at = math.Direct(row0 + r, panel0 + p + beside - 1, at_stride);
        const bool direct = at != nullptr;
        if (direct) at -= (beside - 1) * kPanel;
        if (!direct) {
          at = single ? sums : sums + (p * padded_rows + r) * kPanel;
          at_step = single ? tile : padded_rows * kPanel;
        }
        for (const std::byte*& next : ahead) {
          if (!next) continue;
          for (std::int64_t i = 0; i < share; ++i) __builtin_prefetch(next + i * 64);
          next += share * 64;
        }
        const A* tile_a = a + r * stride;
        if constexpr (kTogether == 2) {
          if (beside == 2)
            math.MultiplyTwo(tile_rows, tile_a, stride, b, count, at, at_stride, at_step, step == 0);
          else
            math.Multiply(tile_rows, tile_a, stride, b[0], count, at, at_stride, step == 0);
        } else {
          math.Multiply(tile_rows, tile_a, stride, b[0], count, at, at_stride, step == 0);
        }
        if (direct || step + 1 != cut.depth_blocks) continue;
        for (int i = 0; i < beside; ++i) math.Finish(at + i * at_step, row0 + r, tile_rows, panel0 + p + i);
      }
    }
  }
}

template <class Math, class Work>
HWY_INLINE void RunBlocks(const Work& work, std::int64_t max_depth, ThreadPool& pool,
                          std::int64_t max_rows = kBlockRows) {
  struct Job {
    const Work& work;
    Cut cut;
  } const job{work, Cut(work.m, work.n, work.k, max_depth, max_rows)};
  pool.run(job.cut.row_blocks * job.cut.panel_blocks, job.cut.chunk(work.k),
           [&job](std::int64_t first, std::int64_t last) HWY_ATTR {
             const Work& of = job.work;
             for (std::int64_t block = first; block < last; ++block) {
               Math math(of);
               RunBlock(math, job.cut, of.m, of.n, of.k, block);
             }
           });
}

// One row of 16 operands for a tile; those past `columns` are zero.
template <class T>
HWY_INLINE const T* SpreadRow(const Spread<T>& spread, std::int64_t row, std::int64_t column,
                              std::int64_t columns, T* buffer) {
  const T* at = spread.data + row * spread.row_stride + column * spread.column_stride;
  if (spread.column_stride != 0 && columns == kPanel) return at;
  for (std::int64_t i = 0; i < kPanel; ++i) {
    buffer[i] = spread.column_stride == 0 ? *at : i < columns ? at[i] : T(0);
  }
  return buffer;
}

// The epilogue operand of a tile's rows; fetched again only if rows differ.
template <class T>
struct Terms {
  HWY_ALIGN T buffer[kPanel];
  const T* at = nullptr;
  HWY_INLINE void Find(const Spread<T>& spread, bool first, std::int64_t row, std::int64_t column,
                       std::int64_t columns) {
    if (spread.data && (first || spread.row_stride != 0))
      at = SpreadRow(spread, row, column, columns, buffer);
  }
};

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
