#include "kernels/conv/conv_int8_winograd.hpp"

#include "kernels/choose.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/conv_int8_winograd_simd.cpp"
#include "hwy/foreach_target.h"
#include "kernels/gemm/gemm_int8_tiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

using DW = hn::CappedTag<std::int16_t, 16>;
using VW = hn::Vec<DW>;

inline constexpr std::int64_t kPlaces = 16;  // of a tile of 4 x 4 inputs

// A block of tiles: its transformed inputs and the sums of one panel fit the L2 cache.
inline std::int64_t BlockTiles(std::int64_t channels) {
  return std::clamp<std::int64_t>(4096 / channels, 2 * kTileRows, 60) / kTileRows * kTileRows;
}
// Not a multiple of 4096 bytes, which would map all positions to one cache set.
inline std::int64_t PlaceStride(std::int64_t tiles, std::int64_t channels) { return tiles * channels + 32; }

template <class V>
HWY_INLINE void ForwardFour(V& a, V& b, V& c, V& d) {
  const V first = hn::Sub(a, c), second = hn::Add(b, c), third = hn::Sub(c, b), fourth = hn::Sub(b, d);
  a = first;
  b = second;
  c = third;
  d = fourth;
}

// Input transform: [4][4][channels] from `from` on, lines `line` apart, to 16 values per channel. Each is a
// sum of four inputs at most, so its magnitude is below 1024.
HWY_INLINE void Forward(const std::int16_t* HWY_RESTRICT from, std::int64_t line, std::int64_t channels,
                        std::int16_t* HWY_RESTRICT to, std::int64_t place_stride) {
  const DW d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t at = 0; at < channels; at += lanes) {
    const std::int64_t c = std::min(at, channels - lanes);  // the last vector overlaps
    VW v[4][4];
    HWY_UNROLL(4)
    for (int y = 0; y < 4; ++y) {
      HWY_UNROLL(4)
      for (int x = 0; x < 4; ++x) v[y][x] = hn::LoadU(d, from + y * line + x * channels + c);
      ForwardFour(v[y][0], v[y][1], v[y][2], v[y][3]);
    }
    HWY_UNROLL(4)
    for (int x = 0; x < 4; ++x) {
      ForwardFour(v[0][x], v[1][x], v[2][x], v[3][x]);
      HWY_UNROLL(4)
      for (int y = 0; y < 4; ++y) hn::StoreU(v[y][x], d, to + (y * 4 + x) * place_stride + c);
    }
  }
}

// Output transform: the sums of 16 positions to those of 2 x 2 outputs. `upper` and `lower` are two rows of
// 16 columns each. Sums wrap.
HWY_INLINE void Backward(const std::int32_t* HWY_RESTRICT sums, std::int64_t place_stride,
                         std::int32_t* HWY_RESTRICT upper, std::int32_t* HWY_RESTRICT lower) {
  const DI d;
  HWY_UNROLL(4)
  for (int v = 0; v < kVectors; ++v) {
    VI one[4], other[4];
    HWY_UNROLL(4)
    for (int x = 0; x < 4; ++x) {
      const std::int32_t* at = sums + x * place_stride + v * kLanes;
      const VI second = hn::Load(d, at + 4 * place_stride), third = hn::Load(d, at + 8 * place_stride);
      one[x] = hn::Add(hn::Add(hn::Load(d, at), second), third);
      other[x] = hn::Sub(hn::Sub(second, third), hn::Load(d, at + 12 * place_stride));
    }
    const auto put = [&](VI a, VI b, VI c, VI e, std::int32_t* to) HWY_ATTR {
      hn::Store(hn::ShiftRight<2>(hn::Add(hn::Add(a, b), c)), d, to + v * kLanes);
      hn::Store(hn::ShiftRight<2>(hn::Sub(hn::Sub(b, c), e)), d, to + kPanel + v * kLanes);
    };
    put(one[0], one[1], one[2], one[3], upper);
    put(other[0], other[1], other[2], other[3], lower);
  }
}

class WinogradBlock {
 public:
  WinogradBlock(const ConvRuns& runs, const std::int16_t* image, const WinogradWeights& weights,
                const IntegerGemmWork& work)
      : runs_(runs),
        image_(image),
        weights_(weights),
        work_(work),
        finish_(work),
        channels_(runs.sizes.in_channels),
        tiles_(BlockTiles(channels_)),
        height_(runs.sizes.window[1].output),
        width_(runs.sizes.window[2].output) {}

  std::int64_t Count() const { return Ratio(Tiles(), tiles_); }
  std::int64_t Macs() const { return tiles_ * kPlaces * channels_ * work_.n; }

  void Run(std::int64_t block) const {
    const std::int64_t first = block * tiles_, count = std::min(tiles_, Tiles() - first);
    const std::int64_t in_stride = PlaceStride(tiles_, channels_), out_stride = tiles_ * kPanel + kPanel;
    const std::int64_t in_bytes = Ratio(kPlaces * in_stride * 2, 64) * 64;
    const std::int64_t sum_bytes = kPlaces * out_stride * 4;
    std::byte* scratch = gemm_scratch(in_bytes + sum_bytes + 2 * tiles_ * 2 * kPanel * 4);
    auto* in = reinterpret_cast<std::int16_t*>(scratch);
    auto* sums = reinterpret_cast<std::int32_t*>(scratch + in_bytes);
    auto* upper = reinterpret_cast<std::int32_t*>(scratch + in_bytes + sum_bytes);
    auto* lower = upper + tiles_ * 2 * kPanel;
    for (std::int64_t i = 0; i < count; ++i) {
      const auto [n, y, x] = At(first + i);
      Forward(image_ + (n * runs_.height() + 2 * y) * runs_.line() + 2 * x * channels_, runs_.line(),
              channels_, in + i * channels_, in_stride);
    }
    for (std::int64_t p = 0; p < Ratio(work_.n, kPanel); ++p) {
      for (std::int64_t place = 0; place < kPlaces; ++place) {
        for (std::int64_t i = 0; i < count; i += kTileRows) {
          const int rows = static_cast<int>(std::min<std::int64_t>(kTileRows, count - i));
          MultiplyIntegers(rows, in + place * in_stride + i * channels_, channels_, weights_.panel(place, p),
                           channels_, sums + place * out_stride + i * kPanel, kPanel, true);
        }
      }
      for (std::int64_t i = 0; i < count; ++i)
        Backward(sums + i * kPanel, out_stride, upper + i * 2 * kPanel, lower + i * 2 * kPanel);
      Finish(first, count, upper, lower, p);
    }
  }

 private:
  struct Tile {
    std::int64_t n, y, x;
  };
  std::int64_t Rows() const { return Ratio(height_, 2); }  // of tiles
  std::int64_t Columns() const { return Ratio(width_, 2); }
  std::int64_t Tiles() const { return runs_.sizes.batch * Rows() * Columns(); }
  Tile At(std::int64_t tile) const {
    return {tile / Columns() / Rows(), tile / Columns() % Rows(), tile % Columns()};
  }

  // Adjacent tiles make two rows of outputs.
  HWY_INLINE void Finish(std::int64_t first, std::int64_t count, const std::int32_t* upper,
                         const std::int32_t* lower, std::int64_t panel) const {
    for (std::int64_t i = 0; i < count;) {
      const auto [n, y, x] = At(first + i);
      const std::int64_t beside = std::min(count - i, Columns() - x);
      const std::int64_t places = std::min(2 * beside, width_ - 2 * x);
      for (std::int64_t line = 0; line < std::min<std::int64_t>(2, height_ - 2 * y); ++line) {
        const std::int32_t* sums = (line == 0 ? upper : lower) + i * 2 * kPanel;
        const std::int64_t row = (n * height_ + 2 * y + line) * width_ + 2 * x;
        for (std::int64_t k = 0; k < places; k += kTileRows) {
          finish_.Tile(sums + k * kPanel, row + k,
                       static_cast<int>(std::min<std::int64_t>(kTileRows, places - k)), panel * kPanel);
        }
      }
      i += beside;
    }
  }

  const ConvRuns& runs_;
  const std::int16_t* image_;
  const WinogradWeights& weights_;
  const IntegerGemmWork& work_;
  const IntegerFinish finish_;
  const std::int64_t channels_, tiles_, height_, width_;
};

void ConvWinograd(const WinogradTiles& tiles, ThreadPool& pool) {
  const WinogradBlock block(tiles.runs, tiles.image, tiles.weights, tiles.work);
  pool.run(block.Count(), Ratio(kPartMacs, std::max<std::int64_t>(1, block.Macs())),
           [&block](std::int64_t first, std::int64_t last) HWY_ATTR {
             for (std::int64_t i = first; i < last; ++i) block.Run(i);
           });
}

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {
namespace {

// Twice Winograd's matrix, applied to three values.
void widen_three(const std::int32_t (&g)[3], std::int32_t (&to)[4]) {
  to[0] = 2 * g[0];
  to[1] = g[0] + g[1] + g[2];
  to[2] = g[0] - g[1] + g[2];
  to[3] = 2 * g[2];
}

}  // namespace

std::span<const Descriptor> conv_int8_winograd_simd_descriptors() {
  using enum Instructions;
  constexpr std::string_view kTypes = "8 bits", kTakes = "3 x 3, strides of 1, even channels";
  static const Descriptor all[] = {
      {"F(2 x 2, 3 x 3)", kTypes, kTakes, avx2, false, 0, WinogradConv{HWY_CHOOSE_AVX2(ConvWinograd)}},
      {"F(2 x 2, 3 x 3)", kTypes, kTakes, baseline, true, 0, WinogradConv{HWY_STATIC_DISPATCH(ConvWinograd)}},
  };
  return all;
}

bool WinogradWeights::fit(const ConvSizes& sizes) {
  constexpr std::int64_t kFewest = 16, kMost = 256 * 256;
  return ConvRuns::fit(sizes) && sizes.window[1].kernel == 3 && sizes.window[2].kernel == 3 &&
         sizes.in_channels % 2 == 0 && sizes.in_channels >= kFewest && sizes.out_channels >= kFewest &&
         sizes.in_channels <= kMost / sizes.out_channels;
}

WinogradWeights::WinogradWeights(const ConvSizes& sizes, const std::int16_t* weights)
    : channels_(sizes.in_channels),
      panels_((sizes.out_channels + kPanel - 1) / kPanel),
      memory_(aligned_bytes(16 * panels_ * channels_ * kPanel * 2)) {
  auto* to = reinterpret_cast<std::int16_t*>(memory_.get());
  std::fill_n(to, 16 * panels_ * channels_ * kPanel, std::int16_t{0});
  for (std::int64_t o = 0; o < sizes.out_channels; ++o) {
    for (std::int64_t c = 0; c < channels_; ++c) {
      const std::int16_t* g = weights + (o * channels_ + c) * 9;
      std::int32_t rows[3][4];  // the 3 kernel rows, each transformed to 4
      for (int y = 0; y < 3; ++y) widen_three({g[3 * y], g[3 * y + 1], g[3 * y + 2]}, rows[y]);
      for (int x = 0; x < 4; ++x) {
        std::int32_t column[4];
        widen_three({rows[0][x], rows[1][x], rows[2][x]}, column);
        for (int y = 0; y < 4; ++y) {
          const std::int64_t first = ((y * 4 + x) * panels_ + o / kPanel) * channels_ * kPanel;
          to[first + (c / 2 * kPanel + o % kPanel) * 2 + c % 2] = static_cast<std::int16_t>(column[y]);
        }
      }
    }
  }
}

bool winograd_pays(const ConvSizes& sizes) {
  constexpr std::int64_t kFewestOutputs = 100;
  for (const WindowAxis& axis : {sizes.window[1], sizes.window[2]}) {
    if (axis.stride != 1 || axis.dilation != 1) return false;
  }
  return sizes.batch * output_size(sizes.window) >= kFewestOutputs;
}

ConvSizes winograd_sizes(ConvSizes sizes) {
  for (WindowAxis* axis : {&sizes.window[1], &sizes.window[2]}) axis->after += axis->output % 2;
  return sizes;
}

void conv_winograd(const ConvRuns& runs, const std::int16_t* image, const WinogradWeights& weights,
                   const IntegerGemmWork& work, ThreadPool& pool) {
  if (work.m <= 0 || work.n <= 0) return;
  const WinogradTiles tiles{runs, image, weights, work};
  choose<WinogradConv>(tiles).run(tiles, pool);
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
