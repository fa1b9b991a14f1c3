#include "kernels/gemm/gemm_int8_vnni.hpp"

#include "kernels/choose.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/gemm_int8_vnni.cpp"
#include "hwy/foreach_target.h"
#include "kernels/gemm/dot4_vnni.hpp"
#include "kernels/gemm/gemm_int8_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

static_assert(kTileRows <= kDot4Rows);

// A block of rows of a matrix or windows of an image, and their addresses.
struct Dot4Block {
  const std::uint8_t* at[kBlockRows + kTileRows];
  std::int64_t runs, pairs, stride;
  std::uint32_t sums[kBlockRows + kTileRows];  // row sums, if B has zero points
};

HWY_INLINE std::uint32_t SumOfBytes(const std::uint8_t* HWY_RESTRICT from, std::int64_t count) {
  const hn::ScalableTag<std::uint8_t> d;
  const hn::Repartition<std::uint64_t, decltype(d)> wide;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto parts = hn::Zero(wide);
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) parts = hn::Add(parts, hn::SumsOf8(hn::LoadU(d, from + i)));
  auto sum = static_cast<std::uint32_t>(hn::GetLane(hn::SumOfLanes(wide, parts)));
  for (; i < count; ++i) sum += from[i];
  return sum;
}

// Signed bytes become unsigned ones that are larger by 128.
HWY_INLINE void FlipSigns(std::uint8_t* HWY_RESTRICT bytes, std::int64_t count) {
  const hn::ScalableTag<std::uint8_t> d;
  const auto sign = hn::Set(d, std::uint8_t{128});
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) hn::StoreU(hn::Xor(hn::LoadU(d, bytes + i), sign), d, bytes + i);
  for (; i < count; ++i) bytes[i] ^= 128;
}

// Copies rows [row, row + rows) of A to `to`, as unsigned bytes.
HWY_INLINE void CopyRows(const IntegerGemmWork& work, std::int64_t row, std::int64_t rows,
                         std::int64_t stride, std::uint8_t* to, Dot4Block& block) {
  const IntegerView& a = work.a;
  const std::int64_t k = work.k, step = a.column_stride;
  if (work.rows) work.rows->read(row, rows, 0, k, to, stride);
  for (std::int64_t r = 0; r < rows; ++r) {
    std::uint8_t* HWY_RESTRICT line = to + r * stride;
    if (!work.rows) {
      const auto* HWY_RESTRICT from = static_cast<const std::uint8_t*>(a.data) + (row + r) * a.row_stride;
      if (step == 1 && k > 0) std::memcpy(line, from, static_cast<std::size_t>(k));
      for (std::int64_t i = 0; i < k && step != 1; ++i) line[i] = from[i * step];
    }
    if (a.type == IntegerType::int8) FlipSigns(line, k);
    std::memset(line + k, 0, static_cast<std::size_t>(stride - k));
    block.at[r] = line;
    if (work.b->zeros()) block.sums[r] = SumOfBytes(line, k);
  }
}

// Subtracts B's zero points times the row sums of A.
HWY_INLINE void TakeOffZeros(const std::int32_t* zeros, const std::uint32_t* row_sums, int rows,
                             std::int32_t* sums) {
  for (int r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < kPanel; ++i) {
      const std::uint32_t less = row_sums[r] * static_cast<std::uint32_t>(zeros[i]);
      std::int32_t& sum = sums[r * kPanel + i];
      sum = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum) - less);
    }
  }
}

// Rows [row0, row0 + count) by panels [panel0, panel1).
HWY_INLINE void MultiplyBlock(const IntegerGemmWork& work, const IntegerFinish& finish,
                              const Dot4Block& block, std::int64_t row0, std::int64_t count,
                              std::int64_t panel0, std::int64_t panel1) {
  HWY_ALIGN std::int32_t sums[kDot4Panels][kDot4Rows * kPanel];
  const std::int64_t panel_stride = work.b->narrow(1) - work.b->narrow(0);
  for (std::int64_t p = panel0; p < panel1; p += kDot4Panels) {
    const int panels = static_cast<int>(std::min<std::int64_t>(kDot4Panels, panel1 - p));
    for (std::int64_t r = 0; r < count; r += kTileRows) {
      const int rows = static_cast<int>(std::min<std::int64_t>(kTileRows, count - r));
      multiply_dot4(rows, panels, {block.at + r, block.runs, block.pairs, block.stride}, work.b->narrow(p),
                    panel_stride, sums);
      for (int i = 0; i < panels; ++i) {
        if (const std::int32_t* zeros = work.b->zeros())
          TakeOffZeros(zeros + (p + i) * kPanel, block.sums + r, rows, sums[i]);
        finish.Tile(sums[i], row0 + r, rows, (p + i) * kPanel);
      }
    }
  }
}

// find(row0, rows, block) sets the addresses of a block's rows.
template <class Find>
HWY_INLINE void RunDot4(const IntegerGemmWork& work, const Cut& cut, std::int64_t first, std::int64_t last,
                        const Find& find) {
  const IntegerFinish finish(work, work.b->column_sums(), work.a.type == IntegerType::int8 ? 128 : 0);
  Dot4Block block;
  for (std::int64_t i = first; i < last; ++i) {
    const std::int64_t row0 = i / cut.panel_blocks * cut.rows, count = std::min(cut.rows, work.m - row0);
    const std::int64_t panel0 = i % cut.panel_blocks * cut.panels;
    find(row0, count, block);
    MultiplyBlock(work, finish, block, row0, count, panel0,
                  std::min(panel0 + cut.panels, Ratio(work.n, kPanel)));
  }
}

Cut CutOf(const IntegerGemmWork& work) { return {work.m, work.n, work.k, std::max<std::int64_t>(work.k, 1)}; }

void Dot4Gemm(const IntegerGemmWork& work, ThreadPool& pool) {
  const Cut cut = CutOf(work);
  pool.run(cut.row_blocks * cut.panel_blocks, cut.chunk(work.k),
           [&](std::int64_t first, std::int64_t last) HWY_ATTR {
             // Padded strides, to avoid cache set conflicts.
             const std::int64_t stride = Ratio(work.k, 4) * 4 + 64;
             RunDot4(work, cut, first, last,
                     [&](std::int64_t row, std::int64_t rows, Dot4Block& block) HWY_ATTR {
                       auto* to = reinterpret_cast<std::uint8_t*>(gemm_scratch(rows * stride));
                       block.runs = 1;
                       block.pairs = Ratio(work.k, 2);
                       block.stride = 0;
                       CopyRows(work, row, rows, stride, to, block);
                     });
           });
}

void Dot4Conv(const ByteWindows& windows, ThreadPool& pool) {
  const ConvRuns& runs = windows.runs;
  const std::uint8_t* image = windows.image;
  const IntegerGemmWork& work = windows.work;
  const Cut cut = CutOf(work);
  pool.run(cut.row_blocks * cut.panel_blocks, cut.chunk(work.k),
           [&](std::int64_t first, std::int64_t last) HWY_ATTR {
             RunDot4(work, cut, first, last,
                     [&](std::int64_t row, std::int64_t rows, Dot4Block& block) HWY_ATTR {
                       block.runs = runs.sizes.window[1].kernel;
                       block.pairs = runs.even_length() / 2;
                       block.stride = runs.line() * runs.sizes.window[1].dilation;
                       find_windows(runs, image, row, rows, block.at);
                     });
           });
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

namespace {

// A single row by a matrix that the caches do not hold is bound by memory anyway.
constexpr std::int64_t kCached = std::int64_t{1} << 20;  // bytes

bool fits_dot4(const IntegerGemmWork& work) {
  const bool computes = work.m > 1 || work.k * work.n <= kCached;
  return computes && bytes_of(work.a.type) == 1 && work.b->narrow(0) && work.b->column_sums();
}

}  // namespace

std::span<const Descriptor> gemm_int8_vnni_descriptors() {
  using enum Instructions;
  constexpr std::string_view kTypes = "8 bits",
                             kTakes = "2 rows or more, or a small matrix, packed with column sums";
  // Sums are exact; in reproducible mode the epilogue is the baseline's.
  static const Descriptor all[] = {
      {"dot4", kTypes, kTakes, avx512_vnni, false, 0, IntegerGemm{HWY_CHOOSE_AVX2(Dot4Gemm), fits_dot4}},
      {"dot4, reproducible", kTypes, kTakes, avx512_vnni, true, 1,
       IntegerGemm{HWY_STATIC_DISPATCH(Dot4Gemm), fits_dot4}},
      {"dot4", kTypes, "", avx512_vnni, false, 0, ByteConv{HWY_CHOOSE_AVX2(Dot4Conv)}},
      {"dot4, reproducible", kTypes, "", avx512_vnni, true, 1, ByteConv{HWY_STATIC_DISPATCH(Dot4Conv)}},
  };
  return all;
}

void dot4_conv(const ConvRuns& runs, const std::uint8_t* image, const IntegerGemmWork& work,
               ThreadPool& pool) {
  if (work.m <= 0 || work.n <= 0) return;
  const ByteWindows windows{runs, image, work};
  choose<ByteConv>(windows).run(windows, pool);
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
