#include "kernels/conv/conv_int8.hpp"

#include "kernels/choose.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/conv_int8_simd.cpp"
#include "hwy/foreach_target.h"
#include "kernels/gemm/gemm_int8_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

// Where windows start, and the runs of each.
struct WindowRows {
  const std::int16_t* at[kBlockRows + kTileRows];
  std::int64_t runs, run_binary, run_stride;
};

// Micro-kernel for kRows windows and the first kUsed vectors of a panel's columns.
#if HWY_TARGET == HWY_SCALAR
template <int kRows, int kUsed>
HWY_NOINLINE void WindowTile(const WindowRows& rows, std::int64_t row, const std::int8_t* HWY_RESTRICT b,
                             std::int32_t* HWY_RESTRICT sums) {
  for (int r = 0; r < kRows; ++r) {
    for (std::int64_t run = 0; run < rows.runs; ++run) {
      IntegerTile<1>(rows.at[row + r] + run * rows.run_stride, 0, b + run * rows.run_binary * 2 * kPanel,
                     rows.run_binary, sums + r * kPanel, kPanel, run == 0);
    }
  }
}
#else
template <int kRows, int kUsed>
HWY_NOINLINE void WindowTile(const WindowRows& rows, std::int64_t row, const std::int8_t* HWY_RESTRICT b,
                             std::int32_t* HWY_RESTRICT sums) {
  const DI d;
  const std::int16_t* at[kRows];
  VI sum[kRows][kUsed], more[kRows][kUsed];  // the second stays zero on x86 and is optimized away
  HWY_UNROLL(16)
  for (int r = 0; r < kRows; ++r) {
    at[r] = rows.at[row + r];
    HWY_UNROLL(4)
    for (int v = 0; v < kUsed; ++v) sum[r][v] = more[r][v] = hn::Zero(d);
  }
  const std::int64_t runs = rows.runs, pairs = rows.run_binary, stride = rows.run_stride;
  for (std::int64_t run = 0; run < runs; ++run) {
    const std::int64_t begin = run * stride, end = begin + 2 * pairs;
    for (std::int64_t k = begin; k < end; k += 2) {
      VH column[kUsed];
      HWY_UNROLL(4)
      for (int v = 0; v < kUsed; ++v) column[v] = LoadPairs(b + v * 2 * kLanes);
      b += 2 * kPanel;
      HWY_UNROLL(16)
      for (int r = 0; r < kRows; ++r) {
        std::int32_t pair;
        std::memcpy(&pair, at[r] + k, sizeof(pair));
        const VH x = hn::BitCast(DH(), hn::Set(d, pair));
        HWY_UNROLL(4)
        for (int v = 0; v < kUsed; ++v) AddPairs(x, column[v], sum[r][v], more[r][v]);
      }
    }
  }
  HWY_UNROLL(16)
  for (int r = 0; r < kRows; ++r) {
    HWY_UNROLL(4)
    for (int v = 0; v < kUsed; ++v) {
      hn::StoreU(hn::RearrangeToOddPlusEven(sum[r][v], more[r][v]), d, sums + r * kPanel + v * kLanes);
    }
  }
}
#endif

template <int kUsed, int... kRows>
HWY_INLINE auto WindowTileOf(int rows, std::integer_sequence<int, kRows...>) {
  using Tile = void (*)(const WindowRows&, std::int64_t, const std::int8_t*, std::int32_t*);
  static constexpr Tile all[] = {WindowTile<kRows + 1, kUsed>...};
  return all[rows - 1];
}

HWY_INLINE void WindowTiles(int tile_rows, bool half, const WindowRows& rows, std::int64_t row,
                            const std::int8_t* b, std::int32_t* sums) {
  constexpr auto kEach = std::make_integer_sequence<int, kTileRows>();
  constexpr int kHalf = kVectors > 1 ? kVectors / 2 : 1;
  const auto tile = half ? WindowTileOf<kHalf>(tile_rows, kEach) : WindowTileOf<kVectors>(tile_rows, kEach);
  tile(rows, row, b, sums);
}

void ConvIntegerRun(const ImageWindows& windows, ThreadPool& pool) {
  const IntegerGemmWork& work = windows.work;
  struct Job {
    const ConvRuns& runs;
    const std::int16_t* image;
    const IntegerGemmWork& work;
    Cut cut;
  } const job{windows.runs, windows.image, work,
              Cut(work.m, work.n, work.k, std::max<std::int64_t>(work.k, 1))};
  pool.run(job.cut.row_blocks * job.cut.panel_blocks, job.cut.chunk(work.k),
           [&job](std::int64_t first, std::int64_t last) HWY_ATTR {
             const IntegerGemmWork& of = job.work;
             const IntegerFinish finish(of);
             WindowRows rows;
             rows.runs = job.runs.sizes.window[1].kernel;
             rows.run_binary = job.runs.even_length() / 2;
             rows.run_stride = job.runs.line() * job.runs.sizes.window[1].dilation;
             HWY_ALIGN std::int32_t sums[kTileRows * kPanel];
             for (std::int64_t block = first; block < last; ++block) {
               const std::int64_t row0 = block / job.cut.panel_blocks * job.cut.rows;
               const std::int64_t count = std::min(job.cut.rows, of.m - row0);
               const std::int64_t panel0 = block % job.cut.panel_blocks * job.cut.panels;
               const std::int64_t panel1 = std::min(panel0 + job.cut.panels, Ratio(of.n, kPanel));
               find_windows(job.runs, job.image, row0, count, rows.at);
               for (std::int64_t p = panel0; p < panel1; ++p) {
                 const bool half = of.n - p * kPanel <= kPanel / 2;
                 for (std::int64_t r = 0; r < count; r += kTileRows) {
                   const int tile_rows = static_cast<int>(std::min<std::int64_t>(kTileRows, count - r));
                   WindowTiles(tile_rows, half, rows, r, of.b->narrow(p), sums);
                   finish.Tile(sums, row0 + r, tile_rows, p * kPanel);
                 }
               }
             }
           });
}

// One line of the image: `width` positions of `channels` values, minus `less`.
template <class T, class To>
HWY_INLINE void LayLine(const ConvRuns& runs, const T* x, bool channels_last, To less, To padding,
                        std::int64_t n, std::int64_t h, To* HWY_RESTRICT to) {
  const auto& [d, height, width] = runs.sizes.window;
  const std::int64_t channels = runs.sizes.in_channels, line = width.input * channels;
  std::fill_n(to, width.before * channels, padding);
  to += width.before * channels;
  if (channels_last) {
    const T* HWY_RESTRICT from = x + (n * height.input + h) * line;
    for (std::int64_t i = 0; i < line; ++i) to[i] = static_cast<To>(from[i] - less);
  } else {
    const T* HWY_RESTRICT from = x + (n * channels * height.input + h) * width.input;
    const std::int64_t plane = height.input * width.input;
    if (channels == 3) {
      for (std::int64_t i = 0; i < width.input; ++i) {
        to[3 * i] = static_cast<To>(from[i] - less);
        to[3 * i + 1] = static_cast<To>(from[plane + i] - less);
        to[3 * i + 2] = static_cast<To>(from[2 * plane + i] - less);
      }
    } else {
      for (std::int64_t c = 0; c < channels; ++c) {
        for (std::int64_t i = 0; i < width.input; ++i)
          to[i * channels + c] = static_cast<To>(from[c * plane + i] - less);
      }
    }
  }
  std::fill_n(to + line, width.after * channels, padding);
}

// Lines [first, last) of batch · height.
template <class T, class To>
HWY_INLINE void LayLinesOf(const ConvRuns& runs, const T* x, bool channels_last, To less, To padding,
                           std::int64_t first, std::int64_t last, To* to) {
  for (std::int64_t i = first; i < last; ++i) {
    const WindowAxis& height = runs.sizes.window[1];
    const std::int64_t n = i / runs.height(), h = i % runs.height() - height.before;
    To* line = to + i * runs.line();
    if (h < 0 || h >= height.input) {
      std::fill_n(line, runs.line(), padding);
    } else {
      LayLine(runs, x, channels_last, less, padding, n, h, line);
    }
  }
}

void LayWide(const ConvRuns& runs, IntegerType type, const void* x, bool channels_last, std::int32_t zero,
             std::int64_t first, std::int64_t last, std::int16_t* to) {
  const auto lay = [&]<class T>(T) HWY_ATTR {
    const bool bytes = sizeof(T) == 1;
    // Subtracting 2¹⁵ makes uint16 signed; in int16 arithmetic, it is the same number modulo 2¹⁶.
    const auto less = static_cast<std::int16_t>(bytes ? zero : std::is_signed_v<T> ? 0 : 32768);
    const auto padding = static_cast<std::int16_t>(bytes ? 0 : zero - less);
    LayLinesOf(runs, static_cast<const T*>(x), channels_last, less, padding, first, last, to);
  };
  switch (type) {
    case IntegerType::int8:
      return lay(std::int8_t());
    case IntegerType::uint8:
      return lay(std::uint8_t());
    case IntegerType::int16:
      return lay(std::int16_t());
    case IntegerType::uint16:
      return lay(std::uint16_t());
  }
}

void LayBytes(const ConvRuns& runs, IntegerType type, const void* x, bool channels_last, std::int32_t zero,
              std::int64_t first, std::int64_t last, std::uint8_t* to) {
  const std::uint8_t less = type == IntegerType::int8 ? 128 : 0;  // equal to adding 128
  const auto padding = static_cast<std::uint8_t>(zero - less);
  const auto* bytes = static_cast<const std::uint8_t*>(x);
  LayLinesOf(runs, bytes, channels_last, less, padding, first, last, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

HWY_EXPORT(LayWide);
HWY_EXPORT(LayBytes);

std::span<const Descriptor> conv_int8_simd_descriptors() {
  using enum Instructions;
  constexpr std::string_view kTypes = "8 or 16 bits by 8", kTakes = "one group, sums of 32 bits";
  static const Descriptor all[] = {
      {"image", kTypes, kTakes, avx2, false, 0, ImageConv{HWY_CHOOSE_AVX2(ConvIntegerRun)}},
      {"image", kTypes, kTakes, baseline, true, 0, ImageConv{HWY_STATIC_DISPATCH(ConvIntegerRun)}},
  };
  return all;
}

bool ConvRuns::fit(const ConvSizes& sizes) {
  const WindowAxis& depth = sizes.window[0];
  const bool flat = depth.kernel == 1 && depth.input == 1 && depth.before == 0 && depth.after == 0;
  return sizes.groups == 1 && flat && sizes.window[2].dilation == 1;
}

namespace {
// Calls lines(first, last) in parts large enough for a thread.
template <class Lines>
void lay_image(const ConvRuns& runs, ThreadPool& pool, const Lines& lines) {
  constexpr std::int64_t kPart = 64 << 10;  // elements
  pool.run(runs.sizes.batch * runs.height(),
           std::max<std::int64_t>(1, kPart / std::max<std::int64_t>(1, runs.line())),
           [&lines](std::int64_t first, std::int64_t last) { lines(first, last); });
}
}  // namespace

void ConvRuns::lay_out(IntegerType type, const void* x, bool channels_last, std::int32_t zero,
                       std::int16_t* to, ThreadPool& pool) const {
  lay_image(*this, pool, [&](std::int64_t first, std::int64_t last) {
    HWY_DYNAMIC_DISPATCH(LayWide)(*this, type, x, channels_last, zero, first, last, to);
  });
  std::fill_n(to + elements() - kBeyond, kBeyond, std::int16_t{0});
}

void ConvRuns::lay_out(IntegerType type, const void* x, bool channels_last, std::int32_t zero,
                       std::uint8_t* to, ThreadPool& pool) const {
  lay_image(*this, pool, [&](std::int64_t first, std::int64_t last) {
    HWY_DYNAMIC_DISPATCH(LayBytes)(*this, type, x, channels_last, zero, first, last, to);
  });
  std::fill_n(to + elements() - kBeyond, kBeyond, std::uint8_t{0});
}

void conv_int16(const ConvRuns& runs, const std::int16_t* image, const IntegerGemmWork& work,
                ThreadPool& pool) {
  if (work.m <= 0 || work.n <= 0) return;
  const ImageWindows windows{runs, image, work};
  choose<ImageConv>(windows).run(windows, pool);
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
