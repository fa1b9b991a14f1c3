#include "kernels/conv/conv_winograd.hpp"

#include <cmath>

#include "kernels/choose.hpp"
#include "kernels/conv/conv_places.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/conv_winograd_simd.cpp"
#include "hwy/foreach_target.h"
#include "kernels/conv/conv_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

inline constexpr int kSide = 6, kOutputs = 4, kPlaces = kSide * kSide;  // of a tile
inline constexpr float kA = 0.625F, kB = 1.5F;                          // the points
inline constexpr std::int64_t kWinogradCache = 640 << 10;               // bytes of a block of tiles
inline constexpr std::int64_t kBlocksOfSum = 8;  // of input channels, in one part of a sum
// Weights of more bytes are read once for each block, of so many tiles.
inline constexpr std::int64_t kStreamed = 16 << 20, kStreamedTiles = 24;

// Bᵀ·v
HWY_INLINE void Forward(V8 (&v)[kSide]) {
  const D8 d;
  const V8 a = hn::Set(d, kA), b = hn::Set(d, kB), aa = hn::Set(d, kA * kA), bb = hn::Set(d, kB * kB);
  const V8 product = hn::Set(d, kA * kA * kB * kB), sum = hn::Set(d, kA * kA + kB * kB);
  const V8 even_a = hn::NegMulAdd(bb, v[2], v[4]), odd_a = hn::NegMulAdd(bb, v[1], v[3]);
  const V8 even_b = hn::NegMulAdd(aa, v[2], v[4]), odd_b = hn::NegMulAdd(aa, v[1], v[3]);
  v[0] = hn::MulAdd(product, v[0], hn::NegMulAdd(sum, v[2], v[4]));
  v[5] = hn::MulAdd(product, v[1], hn::NegMulAdd(sum, v[3], v[5]));
  v[1] = hn::MulAdd(a, odd_a, even_a);
  v[2] = hn::NegMulAdd(a, odd_a, even_a);
  v[3] = hn::MulAdd(b, odd_b, even_b);
  v[4] = hn::NegMulAdd(b, odd_b, even_b);
}

// Aᵀ·v
HWY_INLINE void Backward(const V8 (&v)[kSide], V8 (&y)[kOutputs]) {
  const D8 d;
  const V8 sum_a = hn::Add(v[1], v[2]), difference_a = hn::Sub(v[1], v[2]);
  const V8 sum_b = hn::Add(v[3], v[4]), difference_b = hn::Sub(v[3], v[4]);
  y[0] = hn::Add(hn::Add(v[0], sum_a), sum_b);
  y[1] = hn::MulAdd(hn::Set(d, kA), difference_a, hn::Mul(hn::Set(d, kB), difference_b));
  y[2] = hn::MulAdd(hn::Set(d, kA * kA), sum_a, hn::Mul(hn::Set(d, kB * kB), sum_b));
  y[3] = hn::MulAdd(hn::Set(d, kA * kA * kA), difference_a,
                    hn::MulAdd(hn::Set(d, kB * kB * kB), difference_b, v[5]));
}

// The 6 x 6 inputs of 8 channels at `from`, rows `line` floats apart, to 36 places.
HWY_INLINE void TransformTile(const float* HWY_RESTRICT from, std::int64_t line, float* HWY_RESTRICT to,
                              std::int64_t place_stride) {
  const D8 d;
  for (int part = 0; part < 8; part += kLanes8) {
    HWY_ALIGN float columns[kSide][kSide][kLanes8];
    HWY_UNROLL(1)
    for (int x = 0; x < kSide; ++x) {
      V8 v[kSide];
      HWY_UNROLL(6)
      for (int y = 0; y < kSide; ++y) v[y] = hn::LoadU(d, from + y * line + x * 8 + part);
      Forward(v);
      HWY_UNROLL(6)
      for (int y = 0; y < kSide; ++y) hn::Store(v[y], d, columns[y][x]);
    }
    HWY_UNROLL(1)
    for (int y = 0; y < kSide; ++y) {
      V8 v[kSide];
      HWY_UNROLL(6)
      for (int x = 0; x < kSide; ++x) v[x] = hn::Load(d, columns[y][x]);
      Forward(v);
      HWY_UNROLL(6)
      for (int x = 0; x < kSide; ++x) hn::StoreU(v[x], d, to + (y * kSide + x) * place_stride + part);
    }
  }
}

// The sums of 36 places to 4 x 4 results. False if one of them is not finite; then `y` is undefined.
HWY_INLINE bool TransformBack(const float* HWY_RESTRICT sums, std::int64_t place_stride,
                              float (&y)[kOutputs][kOutputs][8]) {
  const D8 d;
  bool finite = true;
  for (int part = 0; part < 8; part += kLanes8) {
    HWY_ALIGN float columns[kOutputs][kSide][kLanes8];
    HWY_UNROLL(1)
    for (int x = 0; x < kSide; ++x) {
      V8 v[kSide], to[kOutputs];
      HWY_UNROLL(6)
      for (int i = 0; i < kSide; ++i) v[i] = hn::LoadU(d, sums + (i * kSide + x) * place_stride + part);
      Backward(v, to);
      HWY_UNROLL(4)
      for (int i = 0; i < kOutputs; ++i) hn::Store(to[i], d, columns[i][x]);
    }
    V8 corners = hn::Zero(d);  // every place is part of one of the corners
    HWY_UNROLL(1)
    for (int i = 0; i < kOutputs; ++i) {
      V8 v[kSide], to[kOutputs];
      HWY_UNROLL(6)
      for (int x = 0; x < kSide; ++x) v[x] = hn::Load(d, columns[i][x]);
      Backward(v, to);
      if (i == 0 || i == kOutputs - 1) corners = hn::Add(corners, hn::Add(to[0], to[3]));
      HWY_UNROLL(4)
      for (int x = 0; x < kOutputs; ++x) hn::StoreU(to[x], d, y[i][x] + part);
    }
    const V8 zero = hn::Zero(d);
    finite = finite && hn::AllTrue(d, hn::Eq(hn::Mul(corners, zero), zero));
  }
  return finite;
}

struct WinogradCut {
  std::int64_t rows, columns, tiles;  // tiles of an image's rows and columns; of all images
  std::int64_t block, blocks;         // tiles of a block; blocks
  std::int64_t part_panels, panel_parts;
  std::int64_t together;  // panels of which all places are multiplied before results are written

  explicit WinogradCut(const FloatConvWork& work) {
    rows = Ratio((*work.axes)[1].count, kOutputs), columns = Ratio((*work.axes)[2].count, kOutputs);
    tiles = work.batch * rows * columns;
    const std::int64_t bytes = kPlaces * 4 * (work.in_blocks * 8 + 32);
    const bool streamed = FloatWinogradWeights::bytes(work.out_blocks * 8, work.in_blocks * 8) > kStreamed;
    block = streamed ? kStreamedTiles
                     : std::clamp<std::int64_t>(kWinogradCache / bytes / kConvTile, 1, 8) * kConvTile;
    blocks = Ratio(tiles, block);
    block = Ratio(tiles, blocks);
    blocks = Ratio(tiles, block);
    constexpr std::int64_t kFewestPanels = 8;  // each part transforms its inputs
    const std::int64_t panels = work.panels();
    panel_parts = std::clamp<std::int64_t>(8 / blocks, 1, Ratio(panels, kFewestPanels));
    part_panels = Ratio(Ratio(panels, panel_parts), 2) * 2;
    panel_parts = Ratio(panels, part_panels);
    together = streamed ? part_panels : 2;
  }
};

template <class Tiles>
class WinogradPart {
 public:
  WinogradPart(const FloatWinogradWork& work, const WinogradCut& cut)
      : work_(work), conv_(work.conv), cut_(cut), places_(conv_), range_(conv_.activation, conv_.finish) {}

  void Run(std::int64_t part) const {
    const std::int64_t first = part / cut_.panel_parts * cut_.block;
    const std::int64_t count = std::min(cut_.block, cut_.tiles - first);
    const std::int64_t in_stride = conv_.in_blocks * count * 8 + 16;
    const std::int64_t groups = Ratio(count, kConvTile), group = Ratio(count, groups);  // of tiles
    const std::int64_t panel_stride = groups * kGroupFloats, out_stride = cut_.together * panel_stride + 16;
    const std::int64_t in_bytes = kPlaces * in_stride * 4, sum_bytes = kPlaces * out_stride * 4;
    std::byte* scratch = gemm_scratch(in_bytes + sum_bytes + kSide * kSide * 8 * 4);
    auto* in = reinterpret_cast<float*>(scratch);
    auto* sums = reinterpret_cast<float*>(scratch + in_bytes);
    auto* padded = reinterpret_cast<float*>(scratch + in_bytes + sum_bytes);
    for (std::int64_t i = 0; i < count; ++i) ReadTile(first + i, in + i * 8, count * 8, in_stride, padded);
    const std::int64_t from = part % cut_.panel_parts * cut_.part_panels;
    const std::int64_t end = std::min(conv_.panels(), from + cut_.part_panels);
    for (std::int64_t panel = from; panel < end; panel += cut_.together) {
      const std::int64_t until = std::min(panel + cut_.together, end);
      for (std::int64_t place = 0; place < kPlaces; ++place) {
        for (std::int64_t p = panel; p < until; p += Tiles::kPanels)
          Multiply(in + place * in_stride, sums + place * out_stride + (p - panel) * panel_stride, place, p,
                   count);
      }
      for (std::int64_t b = panel * 2; b < std::min(until * 2, conv_.out_blocks); ++b) {
        const std::int64_t p = b / 2 - panel;
        const float* at = sums + p / Tiles::kPanels * Tiles::kPanels * panel_stride +
                          p % Tiles::kPanels * kGroupFloats + b % 2 * 8;
        for (std::int64_t i = 0; i < count; ++i) {
          WriteTile(first + i, b, at + i / group * Tiles::kPanels * kGroupFloats + i % group * 16,
                    out_stride);
        }
      }
    }
  }

 private:
  static constexpr std::int64_t kGroupFloats = kConvTile * 16;  // sums of a panel and a group of tiles
  struct At {
    std::int64_t n, y, x;  // image, first output row and column
  };
  At Find(std::int64_t tile) const {
    return {tile / cut_.columns / cut_.rows, tile / cut_.columns % cut_.rows * kOutputs,
            tile % cut_.columns * kOutputs};
  }

  void ReadTile(std::int64_t tile, float* to, std::int64_t block_stride, std::int64_t place_stride,
                float* padded) const {
    const auto [n, y, x] = Find(tile);
    const ConvAxis &h = (*conv_.axes)[1], &w = (*conv_.axes)[2];
    const std::int64_t top = y + h.taps[0], left = x + w.taps[0], line = w.input * 8;
    const bool inside = top >= 0 && left >= 0 && top + kSide <= h.input && left + kSide <= w.input;
    const float* image = conv_.x + n * conv_.image_stride;
    for (std::int64_t b = 0; b < conv_.in_blocks; ++b, image += conv_.block_stride, to += block_stride) {
      if (inside) {
        TransformTile(image + top * line + left * 8, line, to, place_stride);
        continue;
      }
      std::fill_n(padded, kPlaces * 8, 0.0F);
      const std::int64_t from = std::max<std::int64_t>(left, 0), until = std::min(left + kSide, w.input);
      for (std::int64_t i = 0; i < kSide && until > from; ++i) {
        if (top + i < 0 || top + i >= h.input) continue;
        std::copy_n(image + (top + i) * line + from * 8, (until - from) * 8,
                    padded + (i * kSide + from - left) * 8);
      }
      TransformTile(padded, kSide * 8, to, place_stride);
    }
  }

  // The products of one place: [group of tiles][panel][tile][16].
  void Multiply(const float* in, float* sums, std::int64_t place, std::int64_t panel,
                std::int64_t count) const {
    static constexpr std::int64_t kSteps[kConvTile] = {0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88};
    const int blocks =
        static_cast<int>(std::min<std::int64_t>(2 * Tiles::kPanels, conv_.out_blocks - panel * 2));
    ConvTile tile;
    tile.block_stride = count * 8;
    tile.in = kSteps;
    tile.last = false;
    const std::int64_t parts = Ratio(count, kConvTile), most = Ratio(count, parts);
    for (std::int64_t b = 0; b < conv_.in_blocks; b += kBlocksOfSum) {
      tile.first = b == 0;
      tile.blocks = std::min(kBlocksOfSum, conv_.in_blocks - b);
      for (int i = 0; i < Tiles::kPanels; ++i) {
        const std::int64_t at = place * conv_.panels() + std::min(panel + i, conv_.panels() - 1);
        tile.w[i] = work_.weights + (at * conv_.in_blocks + b) * 8 * 16;
      }
      tile.sums = sums;
      for (std::int64_t i = 0; i < count; i += most, tile.sums += Tiles::kPanels * kGroupFloats) {
        tile.x = in + (b * count + i) * 8;
        Tiles::Run(tile, static_cast<int>(std::min(most, count - i)), blocks);
      }
    }
  }

  // Results of one block of 8 channels.
  void WriteTile(std::int64_t tile, std::int64_t block, const float* sums, std::int64_t place_stride) const {
    const D8 d;
    const auto [n, y, x] = Find(tile);
    HWY_ALIGN float results[kOutputs][kOutputs][8];
    if (!TransformBack(sums, place_stride, results)) return Directly(n, y, x, block);
    const std::int64_t height = std::min<std::int64_t>(kOutputs, (*conv_.axes)[1].count - y);
    const std::int64_t width = std::min<std::int64_t>(kOutputs, (*conv_.axes)[2].count - x);
    const std::int64_t image = (n * conv_.out_blocks + block) * conv_.out_space();
    const V8 low = hn::Set(d, range_.low), high = hn::Set(d, range_.high);
    for (int part = 0; part < 8; part += kLanes8) {
      const V8 bias = conv_.bias ? hn::LoadU(d, conv_.bias + block * 8 + part) : hn::Zero(d);
      for (std::int64_t i = 0; i < height; ++i) {
        const std::int64_t at = (image + (y + i) * (*conv_.axes)[2].count + x) * 8 + part;
        for (std::int64_t j = 0; j < width; ++j) {
          V8 one = hn::Add(hn::Load(d, results[i][j] + part), bias);
          if (conv_.addend) one = hn::Add(one, hn::LoadU(d, conv_.addend + at + j * 8));
          hn::StoreU(Clamped(one, low, high), d, conv_.y + at + j * 8);
        }
      }
    }
    if (range_.more) {
      for (std::int64_t i = 0; i < height; ++i) {
        float* row = conv_.y + (image + (y + i) * (*conv_.axes)[2].count + x) * 8;
        range_.apply({row, static_cast<std::size_t>(width * 8)});
      }
    }
  }

  // One tile and block by direct convolution.
  HWY_NOINLINE void Directly(std::int64_t n, std::int64_t y, std::int64_t x, std::int64_t block) const {
    std::int64_t in[9 * kConvTile], out[kConvTile];
    const std::vector<float> zeros(8);
    ConvTile tile;
    tile.x = conv_.x;
    tile.block_stride = conv_.block_stride;
    tile.in = in, tile.out = out;
    tile.zeros = zeros.data();
    tile.blocks = conv_.in_blocks;
    tile.taps = 9;
    tile.w[0] = conv_.weights + block / 2 * conv_.depth() * 16 + block % 2 * 8;
    tile.bias = conv_.bias ? conv_.bias + block * 8 : nullptr;
    tile.y = conv_.y + block * conv_.out_space() * 8;
    tile.addend = conv_.addend ? conv_.addend + block * conv_.out_space() * 8 : nullptr;
    tile.low = range_.low, tile.high = range_.high;
    const auto width = static_cast<int>(std::min<std::int64_t>(kOutputs, (*conv_.axes)[2].count - x));
    for (std::int64_t i = 0; i < std::min<std::int64_t>(kOutputs, (*conv_.axes)[1].count - y); ++i) {
      ConvPlaces::At where{n, {0, y + i, x}};
      tile.inside = places_.Fill(where, width, in, out);
      NarrowTiles::Run(tile, width, 1);
      if (range_.more) range_.apply({tile.y + out[0], static_cast<std::size_t>(width * 8)});
    }
  }

  const FloatWinogradWork& work_;
  const FloatConvWork& conv_;
  const WinogradCut& cut_;
  const ConvPlaces places_;
  const ConvRange range_;
};

template <class Tiles>
HWY_INLINE void RunWinograd(const FloatWinogradWork& work, ThreadPool& pool) {
  const WinogradCut cut(work.conv);
  const WinogradPart<Tiles> part(work, cut);
  const std::int64_t macs = cut.block * kPlaces * work.conv.in_blocks * 8 * cut.part_panels * 16;
  pool.run(cut.blocks * cut.panel_parts, Ratio(kPartMacs / 2, std::max<std::int64_t>(1, macs)),
           [&part](std::int64_t first, std::int64_t last) HWY_ATTR {
             for (std::int64_t i = first; i < last; ++i) part.Run(i);
           });
}

void Winograd(const FloatWinogradWork& work, ThreadPool& pool) { RunWinograd<NarrowTiles>(work, pool); }
#if HWY_TARGET == HWY_AVX2
void WideWinograd(const FloatWinogradWork& work, ThreadPool& pool) { RunWinograd<WideTiles>(work, pool); }
#endif

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {
std::span<const Descriptor> conv_winograd_simd_descriptors() {
  using enum Instructions;
  constexpr std::string_view kType = "float32", kTakes = "3 x 3, strides of 1";
  static const Descriptor all[] = {
      {"F(4 x 4, 3 x 3), 16 lanes", kType, kTakes, avx512, false, 0,
       FloatWinograd{HWY_CHOOSE_AVX2(WideWinograd)}},
      {"F(4 x 4, 3 x 3)", kType, kTakes, avx2, false, 0, FloatWinograd{HWY_CHOOSE_AVX2(Winograd)}},
      {"F(4 x 4, 3 x 3)", kType, kTakes, baseline, true, 0, FloatWinograd{HWY_STATIC_DISPATCH(Winograd)}},
  };
  return all;
}

void conv_winograd_float(const FloatWinogradWork& work, ThreadPool& pool) {
  if (work.conv.batch * work.conv.positions() > 0) choose<FloatWinograd>(work).run(work, pool);
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
