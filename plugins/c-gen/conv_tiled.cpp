// Integer convolution as products of matrices. Blocks of output pixels are gathered as pairs of 16-bit
// numbers; four rows of weights at a time are widened and multiplied with them.
#include <algorithm>

#include "integer_conv.hpp"
#include "numbers.hpp"
#include "tiles.hpp"

namespace anybit::cgen {
namespace {

constexpr std::int64_t kBlockBytes = 32 << 10;  // of gathered pixels: what the first cache holds

// The input less its zero point, with its padding.
constexpr std::string_view kPad =
    R"(static void pad_$S(const $T *restrict x, int16_t *restrict to, int32_t planes, int32_t height, int32_t width,
                   int32_t above, int32_t left, int32_t full_height, int32_t full_width, int32_t zero) {
  for (int32_t i = 0; i < planes * full_height * full_width; ++i) to[i] = 0;
  for (int32_t c = 0; c < planes; ++c) {
    int16_t *plane = to + (c * full_height + above) * full_width + left;
    for (int32_t h = 0; h < height; ++h)
      for (int32_t v = 0; v < width; ++v) plane[h * full_width + v] = (int16_t)(x[(c * height + h) * width + v] - zero);
  }
})";

// Pixels that are wanted as they are: pairs of channels.
constexpr std::string_view kPairPlanes =
    R"(static void pair_planes_$S(const $T *restrict x, int16_t *restrict to, int32_t channels, int32_t plane, int32_t count,
                           int32_t block, int32_t zero) {
  for (int32_t c = 0; c < channels; c += 2, to += 2 * block) {
    const $T *even = x + c * plane, *odd = c + 1 < channels ? even + plane : even;
    for (int32_t j = 0; j < count; ++j) {
      to[2 * j] = (int16_t)(even[j] - zero);
      to[2 * j + 1] = (int16_t)(odd[j] - zero);
    }
    for (int32_t j = 2 * count; j < 2 * block; ++j) to[j] = 0;
  }
})";

// Pixels of windows over a padded input. sizes: depth, kernel's height and width, steps of a plane, of a row
// and of a column of the kernel; then the output's width, and steps from one of its rows, and of its columns,
// to the next.
constexpr std::string_view kGather =
    R"(static void gather(const int16_t *restrict x, int16_t *restrict to, int32_t first, int32_t count, int32_t block,
                   const int32_t *sizes) {
  const int32_t depth = sizes[0], step = sizes[8];
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
    for (int32_t j = 0; j < count;) {
      const int32_t row = (first + j) / sizes[6], column = (first + j) % sizes[6];
      const int32_t run = sizes[6] - column < count - j ? sizes[6] - column : count - j;
      const int16_t *even = x + row * sizes[7] + column * step + offsets[0];
      const int16_t *odd = x + row * sizes[7] + column * step + offsets[1];
      int16_t *pairs = to + 2 * j;
      if (step == 1) {
        for (int32_t i = 0; i < run; ++i) {
          pairs[2 * i] = even[i];
          pairs[2 * i + 1] = odd[i];
        }
      } else {
        for (int32_t i = 0; i < run; ++i) {
          pairs[2 * i] = even[i * step];
          pairs[2 * i + 1] = odd[i * step];
        }
      }
      j += run;
    }
    for (int32_t j = 2 * count; j < 2 * block; ++j) to[j] = 0;
  }
})";

struct Padded {
  std::int64_t height, width;
};

Padded padded_of(const IntegerConv& conv) {
  const auto size = [](const WindowAxis& axis) {
    return std::max((axis.output - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1,
                    axis.input + axis.before);
  };
  return {size(conv.space[1]), size(conv.space[2])};
}

std::string group_of(Node& node, const IntegerConv& conv) {
  return fmt::format("{} + g * {}", node.x(conv.x), conv.channels * conv.inputs_of_plane());
}

// Writes how a block of pixels is gathered; what precedes all blocks of a group is written at once.
std::string gathering(Node& node, const IntegerConv& conv, const std::string& pairs, std::int64_t block) {
  const Value& x = node.in(conv.x);
  const WindowAxis &h = conv.space[1], &v = conv.space[2];
  const Names names{{"S", std::string(short_name(x))}, {"T", std::string(x.c())}};
  const bool as_they_are = conv.taps() == 1 && h.stride == 1 && v.stride == 1 && h.before == 0 &&
                           v.before == 0 && h.output == h.input && v.output == v.input;
  if (as_they_are) {
    node.helper(fmt::format("pair_planes_{}", short_name(x)), filled(kPairPlanes, names));
    return fmt::format("pair_planes_{}({} + first, {}, {}, {}, count, {}, {});", short_name(x),
                       group_of(node, conv), pairs, conv.channels, conv.inputs_of_plane(), block,
                       conv.x_zero);
  }
  node.helper(fmt::format("pad_{}", short_name(x)), filled(kPad, names));
  node.helper("gather", kGather);
  const Padded padded = padded_of(conv);
  const std::string space = node.scratch("int16_t", conv.channels * padded.height * padded.width);
  node.line("pad_{}({}, {}, {}, {}, {}, {}, {}, {}, {}, {});", short_name(x), group_of(node, conv), space,
            conv.channels, h.input, v.input, h.before, v.before, padded.height, padded.width, conv.x_zero);
  std::vector<std::int32_t> sizes;
  for (const std::int64_t one :
       {conv.depth(), h.kernel, v.kernel, padded.height * padded.width, h.dilation * padded.width, v.dilation,
        v.output, h.stride * padded.width, v.stride})
    sizes.push_back(static_cast<std::int32_t>(one));
  return fmt::format("gather({}, {}, first, count, {}, {});", space, pairs, block, node.int32s(sizes));
}

}  // namespace

void emit_tiled_conv(Node& node, const IntegerConv& conv) {
  const Value &w = node.in(conv.w), &y = node.out();
  need_tile(node);
  const std::string widen = need_widen(node, w), finish = need_finish(node, y);
  const std::int64_t depth = (conv.depth() + 1) / 2 * 2, pixels = conv.outputs_of_plane();
  const std::int64_t fitting = kBlockBytes / (2 * depth) / kTileColumns * kTileColumns;
  const std::int64_t whole = (pixels + kTileColumns - 1) / kTileColumns * kTileColumns;
  const std::int64_t block = std::clamp(fitting, kTileColumns, whole);
  const std::string pairs = node.scratch("int16_t", depth * block);
  const std::string rows = node.scratch("int16_t", kTileRows * depth);
  const std::string zeros = node.int32s(conv.w_zero), weights = node.x(conv.w), out = node.y();
  node.loop("g", conv.batch * conv.groups);
  const std::string channel =
      conv.groups == 1 ? "o" : fmt::format("g % {} * {} + o", conv.groups, conv.outputs);
  const std::string gather = gathering(node, conv, pairs, block);
  node.open("for (int32_t first = 0; first < {}; first += {})", pixels, block);
  node.line("const int32_t count = {0} - first < {1} ? {0} - first : {1};", pixels, block);
  node.line("{}", gather);
  node.open("for (int32_t o = 0; o < {}; o += {})", conv.outputs, kTileRows);
  node.line("const int32_t filled = {0} - o < {1} ? {0} - o : {1}, channel = {2};", conv.outputs, kTileRows,
            channel);
  node.line("{}({} + channel * {}, {}, filled, {}, {}, {}, {} + channel, 1);", widen, weights, conv.depth(),
            rows, kTileRows, conv.depth(), depth, zeros);
  node.open("for (int32_t t = 0; t < count; t += {})", kTileColumns);
  node.line("const int32_t wanted = count - t < {0} ? count - t : {0};", kTileColumns);
  node.line("int32_t sums[{}];", kTileRows * kTileColumns);
  node.line("tile({} + 2 * t, {}, {}, {}, sums);", pairs, 2 * block, rows, depth);
  const std::string bias = conv.quantized ? node.int32s(conv.bias) + "[channel + r]" : "0";
  const std::string factor = conv.quantized ? node.floats(conv.factors) + "[channel + r]" : "0";
  node.open("for (int32_t r = 0; r < filled; ++r)");
  node.line("{}(sums + r * {}, wanted, {}, {}, {}, {} + (g * {} + o + r) * {} + first + t);", finish,
            kTileColumns, bias, factor, conv.quantized ? code_arguments(conv.y_zero, y.info()) : "0, 0, 0",
            out, conv.outputs, pixels);
  for (int i = 0; i < 5; ++i) node.end();
}

}  // namespace anybit::cgen
