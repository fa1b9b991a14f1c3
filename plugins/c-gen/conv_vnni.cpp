// Integer convolution by dot4 instructions (AVX-512 VNNI), if the compiler has them. Blocks and chunks are
// those of conv_tiled.cpp, but gathered inputs and weights stay bytes.
#include <algorithm>
#include <cstdlib>

#include "conv_tiled.hpp"
#include "vnni.hpp"

namespace anybit::cgen {
namespace {

constexpr std::int64_t kMostByte = 255;

bool has_zeros(const IntegerConv& conv) {
  return std::ranges::any_of(conv.w_zero, [](std::int32_t one) { return one != 0; });
}

// The weights of the model, without conversion.
bool direct(const Node& node, const IntegerConv& conv, const TiledConv& how) {
  return how.wide.empty() && node.in(conv.w).type == Element::int8 && !has_zeros(conv) &&
         dot4_depth(conv.depth()) == conv.depth();
}

// Makes `rows` point to the weights of the current tile.
void emit_rows(Node& node, const IntegerConv& conv, const TiledConv& how) {
  const std::int64_t depth = dot4_depth(conv.depth()), wide_depth = tile_depth(conv.depth());
  if (direct(node, conv, how)) {
    node.line("const int8_t *rows = {} + channel * {};", node.x(conv.w), depth);
    return;
  }
  node.line("int8_t *rows = (int8_t *){};", how.rows);
  if (how.wide.empty()) {
    node.line("{}({} + channel * {}, rows, filled, {}, {}, {}, {} + channel);",
              need_narrow(node, node.in(conv.w)), node.x(conv.w), conv.depth(), conv.depth(), conv.depth(),
              depth, node.int32s(conv.w_zero));
  } else {
    node.line("{}({} + channel * {}, rows, filled, {}, {}, {}, (const int32_t *)0);",
              need_narrow(node, Value{.type = Element::int16}), how.wide, wide_depth, wide_depth, wide_depth,
              depth);
  }
}

std::string gathering_dot4(Node& node, const IntegerConv& conv, const TiledConv& how, std::int64_t block) {
  const Value& x = node.in(conv.x);
  const WindowAxis &h = conv.space[1], &v = conv.space[2];
  const std::string group =
      fmt::format("{} + g * {}", node.x(conv.x), conv.channels * conv.inputs_of_plane());
  if (how.as_it_is)
    return fmt::format("{}({}, dot4_groups, to, tiles * {}, {}, {}, {});",
                       need_dot4_planes(node, x, how.cut.chunk), group, how.cut.in_tile(), block,
                       conv.channels, conv.inputs_of_plane());
  const Padded padded = padded_of(conv);
  node.line("{}({}, (uint8_t *){}, {}, {}, {}, {}, {}, {}, {}, {});", need_pad_dot4(node, x), group,
            how.padded, conv.channels, h.input, v.input, h.before, v.before, padded.height, padded.width,
            conv.padding);
  return fmt::format("{}((const uint8_t *){}, dot4_groups, from, tiles * {}, {}, {});",
                     need_gather_dot4(node, how.cut.chunk), how.padded, how.cut.in_tile(), block,
                     node.int32s(gather_sizes(conv)));
}

}  // namespace

std::optional<IntegerConv> of_bytes(const Node& node, const IntegerConv& conv) {
  const Value& x = node.in(conv.x);
  if (!conv.quantized || conv.wide || !conv.known_zero || !is_byte(x)) return std::nullopt;
  IntegerConv result = conv;
  result.x_zero = literal(x.info().low);
  result.known_zero = x.info().low;
  result.padding = *conv.known_zero - x.info().low;
  const auto weights = node.integers_in(conv.w, "the weights");
  for (std::size_t o = 0; o < conv.bias.size(); ++o) {
    std::int64_t sum = 0, most = 0;
    for (std::int64_t k = 0; k < conv.depth(); ++k) {
      const std::int64_t one =
          weights[o * static_cast<std::size_t>(conv.depth()) + static_cast<std::size_t>(k)] - conv.w_zero[o];
      if (one < INT8_MIN || one > INT8_MAX) return std::nullopt;
      sum += one;
      most += std::abs(one);
    }
    const std::int64_t bias = conv.bias[o] - result.padding * sum;
    if (most * kMostByte + std::abs(bias) > INT32_MAX) return std::nullopt;
    result.bias[o] = static_cast<std::int32_t>(bias);
  }
  return result;
}

std::int64_t dot4_rows_bytes(const Node& node, const IntegerConv& conv, const TiledConv& how) {
  return direct(node, conv, how) ? 0 : kDot4TileRows * dot4_depth(conv.depth());
}

void emit_dot4_conv(Node& node, const IntegerConv& conv, const TiledConv& how) {
  need_dot4_tile(node);
  const std::string finish = need_finish(node, node.out(), how.cut.chunk);
  const std::int64_t depth = dot4_depth(conv.depth());
  const std::int64_t all = (how.cut.count() + how.cut.in_tile() - 1) / how.cut.in_tile();
  const std::int64_t tiles = std::min(how.block_bytes / (depth * kTileColumns), all);
  const std::int64_t block = tiles * kTileColumns, chunks = tiles * how.cut.in_tile();
  node.line("uint8_t *dot4_groups = (uint8_t *){};", how.block);
  if (direct(node, conv, how)) node.line("(void){}, (void){};", how.rows, node.int32s(conv.w_zero));
  node.loop("g", conv.batch * conv.groups);
  const std::string gather = gathering_dot4(node, conv, how, block);
  node.open("for (int32_t first = 0; first < {}; first += {})", how.cut.count(), chunks);
  emit_places(node, conv, how.cut, how.as_it_is, chunks);
  node.line("{}", gather);
  open_rows(node, conv, kDot4TileRows);
  emit_rows(node, conv, how);
  node.open("for (int32_t t = 0; t < tiles; ++t)");
  node.line("int32_t sums[{}];", kDot4TileRows * kTileColumns);
  node.line("dot4_tile(dot4_groups + {} * t, {}, rows, filled, {}, sums);", 4 * kTileColumns, 4 * block,
            depth);
  emit_finish(node, conv, how.cut, finish);
  for (int i = 0; i < 4; ++i) node.end();
}

}  // namespace anybit::cgen
