#include "kernels/conv/conv_float.hpp"

#include "kernels/choose.hpp"
#include "kernels/conv/conv_places.hpp"
#include "kernels/move/layout_transform.hpp"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/conv/conv_float_simd.cpp"
#include "hwy/foreach_target.h"
#include "kernels/conv/conv_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace anybit::kernels {
namespace HWY_NAMESPACE {

// Rows of weights that two panels keep in the L1 cache.
inline constexpr std::int64_t kConvDepth = 256;
inline constexpr std::int64_t kMostTableBytes = 16 << 10;

// How the work is cut into parts: depends on the sizes only.
struct ConvCut {
  std::int64_t positions, tiles, tile;   // of all images; positions of a tile
  std::int64_t part_tiles, part_panels;  // of a part
  std::int64_t tile_parts, panel_parts, depth_blocks;

  explicit ConvCut(const FloatConvWork& work) {
    positions = work.batch * work.positions();
    tiles = Ratio(positions, kConvTile);
    tile = Ratio(positions, tiles);
    tiles = Ratio(positions, tile);
    const std::int64_t panels = work.panels();
    const std::int64_t macs = std::max<std::int64_t>(1, positions * panels * 16 * work.depth() * work.groups);
    const std::int64_t wanted = std::clamp<std::int64_t>(macs / kPartMacs, 1, 16);
    const std::int64_t table =
        std::max<std::int64_t>(1, kMostTableBytes / ((work.taps() + 1) * kConvTile * 8));
    part_tiles = std::clamp<std::int64_t>(Ratio(tiles * work.groups, wanted), 4, 16);
    part_tiles = std::min({part_tiles, table, tiles});
    tile_parts = Ratio(tiles, part_tiles);
    part_tiles = Ratio(tiles, tile_parts);
    panel_parts = std::clamp<std::int64_t>(wanted / (tile_parts * work.groups), 1, Ratio(panels, 4));
    part_panels = Ratio(Ratio(panels, panel_parts), 2) * 2;
    panel_parts = Ratio(panels, part_panels);
    depth_blocks = std::max<std::int64_t>(1, kConvDepth / std::max<std::int64_t>(1, work.taps() * work.run));
  }
  std::int64_t parts(const FloatConvWork& work) const { return work.groups * tile_parts * panel_parts; }
};

template <class Tiles>
class ConvPart {
 public:
  ConvPart(const FloatConvWork& work, const ConvCut& cut)
      : work_(work), cut_(cut), places_(work), range_(work.activation, work.finish) {}

  void Run(std::int64_t part) const {
    const std::int64_t panel_part = part % cut_.panel_parts;
    const std::int64_t tile_part = part / cut_.panel_parts % cut_.tile_parts;
    const std::int64_t group = part / cut_.panel_parts / cut_.tile_parts;
    const std::int64_t first = tile_part * cut_.part_tiles;
    const std::int64_t count = std::min(cut_.part_tiles, cut_.tiles - first);
    const std::int64_t table = work_.taps() * kConvTile;
    const std::int64_t zero_bytes = Ratio(work_.run * 4, 64) * 64;
    const std::int64_t sum_bytes = count * Tiles::kPanels * kConvTile * 16 * 4;
    const std::int64_t placed = work_.plain ? count * cut_.tile * 8 : 0;  // floats of a block of results
    const std::int64_t result_bytes = placed * 2 * Tiles::kPanels * 4;
    std::byte* scratch =
        gemm_scratch(zero_bytes + sum_bytes + result_bytes + count * (table + kConvTile) * 8);
    auto* zeros = reinterpret_cast<float*>(scratch);
    std::fill_n(zeros, work_.run, 0.0F);
    auto* sums = reinterpret_cast<float*>(scratch + zero_bytes);
    auto* results = reinterpret_cast<float*>(scratch + zero_bytes + sum_bytes);
    auto* in = reinterpret_cast<std::int64_t*>(scratch + zero_bytes + sum_bytes + result_bytes);
    std::int64_t* out = in + count * table;
    bool inside[16];
    auto where = places_.Find(first * cut_.tile);
    for (std::int64_t t = 0; t < count; ++t)
      inside[t] = places_.Fill(where, Size(first + t), in + t * table, out + t * kConvTile);
    for (std::int64_t p = 0; p < count * cut_.tile && work_.plain; ++p)
      out[p / cut_.tile * kConvTile + p % cut_.tile] = p * 8;

    ConvTile tile;
    const std::int64_t out_space = work_.out_space() * 8;
    tile.block_stride = work_.block_stride;
    tile.zeros = zeros;
    tile.taps = work_.taps();
    tile.run = work_.run;
    tile.y_block = work_.plain ? placed : out_space;
    tile.low = range_.low, tile.high = range_.high;
    const float* x = work_.x + group * work_.in_blocks * work_.block_stride;
    const std::int64_t end = std::min(work_.panels(), (panel_part + 1) * cut_.part_panels);
    for (std::int64_t panel = panel_part * cut_.part_panels; panel < end; panel += Tiles::kPanels) {
      const std::int64_t block = group * work_.out_blocks + panel * 2;
      const int blocks =
          static_cast<int>(std::min<std::int64_t>(2 * Tiles::kPanels, work_.out_blocks - panel * 2));
      tile.bias = work_.bias ? work_.bias + (group * work_.panels() + panel) * 16 : nullptr;
      tile.y = work_.plain ? results : work_.y + block * out_space;
      tile.addend = work_.addend ? work_.addend + block * out_space : nullptr;
      for (std::int64_t b = 0; b < work_.in_blocks; b += cut_.depth_blocks) {
        tile.first = b == 0, tile.last = b + cut_.depth_blocks >= work_.in_blocks;
        tile.blocks = std::min(cut_.depth_blocks, work_.in_blocks - b);
        tile.x = x + b * work_.block_stride;
        for (int i = 0; i < Tiles::kPanels; ++i) {
          const std::int64_t at = group * work_.panels() + std::min(panel + i, work_.panels() - 1);
          tile.w[i] = work_.weights + (at * work_.in_blocks + b) * tile.taps * work_.run * 16;
        }
        for (std::int64_t t = 0; t < count; ++t) {
          tile.in = in + t * table;
          tile.out = out + t * kConvTile;
          tile.inside = inside[t];
          tile.sums = sums + t * Tiles::kPanels * kConvTile * 16;
          Tiles::Run(tile, Size(first + t), blocks);
        }
      }
      if (work_.plain) {
        Place(first, count, group, panel * 2, blocks, results);
      } else {
        Finish(first, count, block, blocks);
      }
    }
  }

 private:
  int Size(std::int64_t tile) const {
    return static_cast<int>(std::min(cut_.tile, cut_.positions - tile * cut_.tile));
  }
  // What the registers left, on the results of this part while they are in the cache.
  void Finish(std::int64_t first, std::int64_t count, std::int64_t block, int blocks) const {
    if (!range_.more) return;
    const std::int64_t space = work_.out_space(), all = work_.groups * work_.out_blocks;
    const std::int64_t end = std::min((first + count) * cut_.tile, cut_.positions);
    for (std::int64_t at = first * cut_.tile; at < end;) {
      const std::int64_t n = at / space, until = std::min(end, (n + 1) * space);
      for (int b = 0; b < blocks; ++b) {
        float* y = work_.y + ((n * all + block + b) * space + at % space) * 8;
        range_.apply({y, static_cast<std::size_t>((until - at) * 8)});
      }
      at = until;
    }
  }

  // Finishes the results of this part, and moves them to their places in the plain layout.
  void Place(std::int64_t first, std::int64_t count, std::int64_t group, std::int64_t block, int blocks,
             float* results) const {
    const std::int64_t space = work_.out_space(), stride = count * cut_.tile * 8;
    const std::int64_t begin = first * cut_.tile;
    const std::int64_t end = std::min(begin + count * cut_.tile, cut_.positions);
    for (int b = 0; b < blocks; ++b) {
      const std::int64_t channel = (block + b) * 8;
      const std::int64_t channels = std::min<std::int64_t>(8, work_.out_channels - channel);
      float* const from = results + b * stride;
      if (range_.more) range_.apply({from, static_cast<std::size_t>((end - begin) * 8)});
      for (std::int64_t at = begin; at < end;) {
        const std::int64_t n = at / space, until = std::min(end, (n + 1) * space);
        const std::int64_t map = (n * work_.groups + group) * work_.out_channels + channel;
        // Four rows at a time: eight that are a multiple of 4 KB apart would not stay in the L1 cache.
        for (std::int64_t c = 0; c < channels; c += 4) {
          transpose_tiles(until - at, std::min<std::int64_t>(4, channels - c),
                          reinterpret_cast<const std::uint32_t*>(from + (at - begin) * 8 + c), 8,
                          reinterpret_cast<std::uint32_t*>(work_.plain + (map + c) * space + at % space),
                          space);
        }
        at = until;
      }
    }
  }

  const FloatConvWork& work_;
  const ConvCut& cut_;
  const ConvPlaces places_;
  const ConvRange range_;
};

template <class Tiles>
HWY_INLINE void RunConv(const FloatConvWork& work, ThreadPool& pool) {
  const ConvCut cut(work);
  const ConvPart<Tiles> part(work, cut);
  const std::int64_t parts = cut.parts(work);
  const std::int64_t macs = cut.positions * work.panels() * 16 * work.depth() * work.groups / parts;
  pool.run(parts, Ratio(kPartMacs / 2, std::max<std::int64_t>(1, macs)),
           [&part](std::int64_t first, std::int64_t last) HWY_ATTR {
             for (std::int64_t i = first; i < last; ++i) part.Run(i);
           });
}

void DirectConv(const FloatConvWork& work, ThreadPool& pool) { RunConv<NarrowTiles>(work, pool); }
#if HWY_TARGET == HWY_AVX2
void WideDirectConv(const FloatConvWork& work, ThreadPool& pool) { RunConv<WideTiles>(work, pool); }
#endif

}  // namespace HWY_NAMESPACE
}  // namespace anybit::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace anybit::kernels {

std::span<const Descriptor> conv_float_simd_descriptors() {
  using enum Instructions;
  constexpr std::string_view kType = "float32";
  static const Descriptor all[] = {
      {"direct, 16 lanes", kType, "", avx512, false, 0, FloatConv{HWY_CHOOSE_AVX2(WideDirectConv)}},
      {"direct", kType, "", avx2, false, 0, FloatConv{HWY_CHOOSE_AVX2(DirectConv)}},
      {"direct", kType, "", baseline, true, 0, FloatConv{HWY_STATIC_DISPATCH(DirectConv)}},
  };
  return all;
}

void conv_float(const FloatConvWork& work, ThreadPool& pool) {
  if (work.batch * work.positions() > 0) choose<FloatConv>(work).run(work, pool);
}

}  // namespace anybit::kernels
#endif  // HWY_ONCE
