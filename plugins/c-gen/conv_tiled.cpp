// Integer convolution by im2col and a tiled GEMM. Output pixels are processed in chunks of 16, 8 or 4 of one
// row; the inputs of a block are gathered as pairs of int16; six rows of weights at a time are widened and
// multiplied. If the row length is no multiple of the chunk, the last two chunks overlap. Convolutions of
// bytes also have a version for compilers with dot4 instructions (conv_vnni.cpp).
#include <algorithm>

#include "conv_tiled.hpp"
#include "numbers.hpp"
#include "tiles.hpp"

namespace anybit::cgen {
namespace {

constexpr std::int64_t kBlockBytes = 32 << 10;  // of gathered pixels: the L1 cache
constexpr std::int64_t kWideBytes = 128
                                    << 10;  // of widened weights: more would evict too much of the L2 cache

// The padded input minus its zero point.
constexpr std::string_view kPad =
    R"(ALONE static void pad_$S(const $T *restrict x, int16_t *restrict to, int32_t planes, int32_t height, int32_t width,
                         int32_t above, int32_t left, int32_t full_height, int32_t full_width, int32_t zero,
                         int16_t padding) {
  for (int32_t c = 0; c < planes; ++c, to += full_height * full_width) {
    int16_t *row = to + above * full_width;
    for (int32_t i = 0; i < above * full_width; ++i) to[i] = padding;
    for (int32_t h = 0; h < height; ++h, x += width, row += full_width) {
      for (int32_t v = 0; v < left; ++v) row[v] = padding;
      line_$S(x, row + left, width, (int16_t)zero);
      for (int32_t v = left + width; v < full_width; ++v) row[v] = padding;
    }
    for (int32_t i = (above + height) * full_width; i < full_height * full_width; ++i) to[i] = padding;
  }
})";

// Gathers pixels without padding: pairs of channels.
constexpr std::string_view kPairPlanes =
    R"(ALONE static void pair_planes_$S_$C(const $T *restrict x, int16_t *restrict to, const int32_t *places, int32_t chunks,
                                    int32_t block, int32_t channels, int32_t plane, int32_t zero) {
  for (int32_t c = 0; c < channels; c += 2, to += 2 * block) {
    const $T *even = x + c * plane, *odd = c + 1 < channels ? even + plane : even;
    for (int32_t q = 0; q < chunks; ++q)
      pair_bytes_$S(to + 2 * $C * q, even + places[q], odd + places[q], $C, (int16_t)zero);
  }
})";

// Gathers windows of a padded input. sizes: depth, kernel height and width, strides of a plane, of a row and
// of a column of the kernel, and from one pixel to the next.
constexpr std::string_view kGather =
    R"(ALONE static void gather_$C(const int16_t *restrict x, int16_t *restrict to, const int32_t *places, int32_t chunks,
                            int32_t block, const int32_t *sizes) {
  const int32_t depth = sizes[0], step = sizes[6];
  int32_t plane = 0, k1 = 0, k2 = 0;
  for (int32_t k = 0; k < depth; k += 2, to += 2 * block) {
    int32_t offsets[2];
    for (int32_t side = 0; side < 2; ++side) {
      offsets[side] = k + side < depth ? plane + k1 * sizes[4] + k2 * sizes[5] : offsets[0];
      if (++k2 < sizes[2]) continue;
      k2 = 0;
      if (++k1 < sizes[1]) continue;
      k1 = 0;
      plane += sizes[3];
    }
    for (int32_t q = 0; q < chunks; ++q) {
      const int16_t *even = x + places[q] + offsets[0], *odd = x + places[q] + offsets[1];
      int16_t *pairs = to + 2 * $C * q;
      if (step == 1) {
        pair_shorts(pairs, even, odd, $C);
      } else {
        for (int32_t j = 0; j < $C; ++j) {
          pairs[2 * j] = even[j * step];
          pairs[2 * j + 1] = odd[j * step];
        }
      }
    }
  }
})";

// Partial chunks read beyond the plane.
bool as_it_is(const IntegerConv& conv) {
  return conv.pointwise() && cut_of(1, conv.inputs_of_plane()).chunk <= conv.inputs_of_plane();
}

// Writes the code that gathers a block of pixels; the code before all blocks of a group is written at once.
std::string gathering(Node& node, const IntegerConv& conv, const TiledConv& how, std::int64_t block) {
  const Value& x = node.in(conv.x);
  const WindowAxis &h = conv.space[1], &v = conv.space[2];
  const std::string chunk = fmt::format("{}", how.cut.chunk);
  const std::string group =
      fmt::format("{} + g * {}", node.x(conv.x), conv.channels * conv.inputs_of_plane());
  const Names names{{"S", std::string(short_name(x))}, {"T", std::string(x.c())}, {"C", chunk}};
  if (how.as_it_is) {
    const std::string name = fmt::format("pair_planes_{}_{}", short_name(x), chunk);
    need_pair_bytes(node, x);
    node.helper(name, filled(kPairPlanes, names));
    return fmt::format("{}({}, {}, to, tiles * {}, {}, {}, {}, {});", name, group, how.block,
                       how.cut.in_tile(), block, conv.channels, conv.inputs_of_plane(), conv.x_zero);
  }
  need_line(node, x);
  node.helper(fmt::format("pad_{}", short_name(x)), filled(kPad, names));
  need_pair_shorts(node);
  node.helper("gather_" + chunk, filled(kGather, names));
  const Padded padded = padded_of(conv);
  node.line("pad_{}({}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {});", short_name(x), group, how.padded,
            conv.channels, h.input, v.input, h.before, v.before, padded.height, padded.width, conv.x_zero,
            conv.padding);
  return fmt::format("gather_{}({}, {}, from, tiles * {}, {}, {});", chunk, how.padded, how.block,
                     how.cut.in_tile(), block, node.int32s(gather_sizes(conv)));
}

// Weights widened to int16.
std::string widened_weights(Node& node, const IntegerConv& conv, std::int64_t depth) {
  const auto integers = node.integers_in(conv.w, "the weights");
  std::vector<std::int16_t> wide(static_cast<std::size_t>(conv.groups * conv.outputs * depth));
  for (std::int64_t o = 0; o < conv.groups * conv.outputs; ++o) {
    const std::int32_t zero = conv.w_zero[static_cast<std::size_t>(o)];
    for (std::int64_t k = 0; k < conv.depth(); ++k)
      wide[static_cast<std::size_t>(o * depth + k)] =
          static_cast<std::int16_t>(integers[static_cast<std::size_t>(o * conv.depth() + k)] - zero);
  }
  return node.array(Element::int16, wide.data(), static_cast<std::int64_t>(wide.size()));
}

// Makes `rows` point to the weights of the current tile. With the preference performance they are int16
// constants unless that takes too many bytes; otherwise they are widened here.
void emit_rows(Node& node, const IntegerConv& conv, const TiledConv& how, std::int64_t depth) {
  if (!how.wide.empty()) {
    node.line("const int16_t *rows = {} + channel * {};", how.wide, depth);
    return;
  }
  node.line("int16_t *rows = {};", how.rows);
  node.line("{}({} + channel * {}, rows, filled, {}, {}, {}, {} + channel, 1);",
            need_widen(node, node.in(conv.w)), node.x(conv.w), conv.depth(), kTileRows, conv.depth(), depth,
            node.int32s(conv.w_zero));
}

void emit_binary_conv(Node& node, const IntegerConv& conv, const TiledConv& how) {
  const Value& y = node.out();
  const Cut& cut = how.cut;
  need_tile(node);
  const Parts parts = *conv.parts;
  const std::string finish =
      conv.wide ? need_wide_finish(node, y, cut.chunk, parts) : need_finish(node, y, cut.chunk);
  const std::int64_t depth = tile_depth(conv.depth());
  const std::int64_t tiles = how.block_bytes / (2 * depth * kTileColumns * parts.count);
  const std::int64_t block = tiles * kTileColumns, chunks = tiles * cut.in_tile();
  node.loop("g", conv.batch * conv.groups);
  const std::string gather = gathering(node, conv, how, block);
  node.open("for (int32_t first = 0; first < {}; first += {})", cut.count(), chunks);
  emit_places(node, conv, cut, how.as_it_is, chunks);
  node.line("{}", gather);
  emit_split(node, parts, how.block, depth * block);
  open_rows(node, conv, kTileRows);
  emit_rows(node, conv, how, depth);
  node.open("for (int32_t t = 0; t < tiles; ++t)");
  node.line("int32_t sums[{}];", kTileSums * parts.count);
  for (std::int64_t i = 0; i < parts.count; ++i)
    node.line("tile({} + {} * t, {}, rows, filled, {}, sums + {});",
              i == 0 ? how.block : fmt::format("{} + {}", how.block, i * depth * block), 2 * kTileColumns,
              2 * block, depth, i * kTileSums);
  emit_finish(node, conv, cut, finish);
  for (int i = 0; i < 4; ++i) node.end();
}

}  // namespace

void open_rows(Node& node, const IntegerConv& conv, std::int64_t most) {
  const std::string channel =
      conv.groups == 1 ? "o" : fmt::format("g % {} * {} + o", conv.groups, conv.outputs);
  if (node.fast()) {
    const std::int64_t blocks = (conv.outputs + most - 1) / most;
    node.loop("b", blocks);
    node.line("const int32_t o = b * {0} / {1}, filled = (b + 1) * {0} / {1} - o, channel = {2};",
              conv.outputs, blocks, channel);
  } else {
    node.open("for (int32_t o = 0; o < {}; o += {})", conv.outputs, most);
    node.line("const int32_t filled = {0} - o < {1} ? {0} - o : {1}, channel = {2};", conv.outputs, most,
              channel);
  }
}

std::vector<std::int32_t> gather_sizes(const IntegerConv& conv) {
  const WindowAxis &h = conv.space[1], &v = conv.space[2];
  const Padded padded = padded_of(conv);
  std::vector<std::int32_t> sizes;
  for (const std::int64_t one : {conv.depth(), h.kernel, v.kernel, padded.height * padded.width,
                                 h.dilation * padded.width, v.dilation, v.stride})
    sizes.push_back(static_cast<std::int32_t>(one));
  return sizes;
}

void emit_finish(Node& node, const IntegerConv& conv, const Cut& cut, const std::string& finish) {
  const std::string bias = conv.quantized ? node.int32s(conv.bias) + " + channel + r" : "(const int32_t *)0";
  const std::string factor =
      conv.quantized ? node.floats(conv.factors) + " + channel + r" : "(const float *)0";
  node.open("for (int32_t r = 0; r < filled; ++r)");
  node.line("{}(sums + r * {}, {}, {}, {}, {} + (g * {} + o + r) * {}, to + {} * t, {});", finish,
            kTileColumns, bias, factor,
            conv.quantized ? code_arguments(conv.y_zero, node.out().info()) : "0, 0, 0", node.y(),
            conv.outputs, conv.outputs_of_plane(), cut.in_tile(), std::min(cut.chunk, cut.width));
  node.end();
}

void emit_tiled_conv(Node& node, const IntegerConv& conv) {
  const bool plain = as_it_is(conv);
  TiledConv how{
      .cut = plain ? cut_of(1, conv.outputs_of_plane()) : cut_of(conv.space[1].output, conv.space[2].output),
      .as_it_is = plain};
  const std::int64_t depth = tile_depth(conv.depth()),
                     all = (how.cut.count() + how.cut.in_tile() - 1) / how.cut.in_tile();
  const std::int64_t tile_bytes = 2 * depth * kTileColumns;
  how.block_bytes =
      std::clamp<std::int64_t>(kBlockBytes / tile_bytes, 1, all) * tile_bytes * conv.parts->count;
  how.block = node.scratch("int16_t", how.block_bytes / 2);
  if (!plain) {
    const Padded padded = padded_of(conv);
    // Chunks that are wider than a row read beyond its end.
    const std::int64_t slack = kTileColumns * conv.space[2].stride;
    how.padded = node.scratch("int16_t", conv.channels * padded.height * padded.width + slack);
  }
  if (node.fast() && conv.groups * conv.outputs * depth * 2 <= kWideBytes)
    how.wide = widened_weights(node, conv, depth);
  const std::optional<IntegerConv> bytes = of_bytes(node, conv);
  const std::int64_t pair_rows = how.wide.empty() ? 2 * kTileRows * depth : 0,
                     dot4_rows = bytes ? dot4_rows_bytes(node, conv, how) : 0;
  if (pair_rows + dot4_rows > 0) how.rows = node.scratch("int16_t", (std::max(pair_rows, dot4_rows) + 1) / 2);
  if (!bytes) return emit_binary_conv(node, conv, how);
  node.line("#if defined(VNNI)");
  emit_dot4_conv(node, *bytes, how);
  node.line("#else");
  if (pair_rows == 0) node.line("(void){};", how.rows);
  emit_binary_conv(node, *bytes, how);
  node.line("#endif");
}

}  // namespace anybit::cgen
