// Float convolution by im2col and a tiled GEMM: gathers the inputs of 16 output pixels in columns and
// multiplies them with four rows of weights at a time, with accumulators in registers. A pointwise
// convolution reads its inputs in place.
#include "real_conv.hpp"

#include <algorithm>

#include "numbers.hpp"

namespace anybit::cgen {
namespace {

constexpr std::int64_t kRows = 4;
constexpr std::int64_t kDeep =
    24;  // channels of a pointwise convolution; with fewer, looping over planes is faster

// sums[r * 16 + j] = Σ w[r * depth + k] * x[k * step + j] for four rows; with fewer, the last row is
// repeated. Uses GCC and Clang vector types if the CPU has vectors.
constexpr std::string_view kTile =
    R"(#if defined(__GNUC__) && (defined(__SSE__) || defined(__ARM_NEON) || defined(__ALTIVEC__) || defined(__VX__))
#if defined(__AVX__)
#define LANES 8
#else
#define LANES 4
#endif
typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef lanes loose_lanes __attribute__((aligned(4), may_alias));
INLINE lanes lanes_at(const float *from) { return *(const loose_lanes *)(const void *)from; }
INLINE void keep_lanes(float *to, lanes low, lanes high) {
  *(loose_lanes *)(void *)to = low;
  *(loose_lanes *)(void *)(to + LANES) = high;
}
#if defined(__SSE__)
/* Else each use would be a load. */
#define LOADED(a, b) __asm__("" : "+x"(a), "+x"(b))
#else
#define LOADED(a, b)
#endif
#endif
ALONE static void real_tile(const float *restrict x, int32_t step, const float *restrict w, int32_t rows, int32_t depth,
                            float *restrict sums) {
  const float *w1 = rows > 1 ? w + depth : w, *w2 = rows > 2 ? w1 + depth : w1, *w3 = rows > 3 ? w2 + depth : w2;
#if defined(LANES)
  for (int32_t j = 0; j < 16; j += 2 * LANES) {
    lanes a0 = {0}, b0 = a0, a1 = a0, b1 = a0, a2 = a0, b2 = a0, a3 = a0, b3 = a0;
    const float *from = x + j;
    for (int32_t k = 0; k < depth; ++k, from += step) {
      lanes a = lanes_at(from), b = lanes_at(from + LANES);
      LOADED(a, b);
      a0 += a * w[k];
      b0 += b * w[k];
      a1 += a * w1[k];
      b1 += b * w1[k];
      a2 += a * w2[k];
      b2 += b * w2[k];
      a3 += a * w3[k];
      b3 += b * w3[k];
    }
    keep_lanes(sums + j, a0, b0);
    keep_lanes(sums + 16 + j, a1, b1);
    keep_lanes(sums + 32 + j, a2, b2);
    keep_lanes(sums + 48 + j, a3, b3);
  }
#else
  for (int32_t i = 0; i < 64; ++i) sums[i] = 0;
  for (int32_t k = 0; k < depth; ++k, x += step) {
    for (int32_t j = 0; j < 16; ++j) {
      sums[j] += w[k] * x[j];
      sums[16 + j] += w1[k] * x[j];
      sums[32 + j] += w2[k] * x[j];
      sums[48 + j] += w3[k] * x[j];
    }
  }
#endif
})";

constexpr std::string_view kPadRealConv =
    R"(ALONE static void pad_reals(const float *restrict x, float *restrict to, int32_t planes, int32_t height, int32_t width,
                            int32_t above, int32_t left, int32_t full_height, int32_t full_width) {
  for (int32_t c = 0; c < planes; ++c) {
    for (int32_t h = 0; h < full_height; ++h, to += full_width) {
      const int inside = h >= above && h < above + height;
      for (int32_t v = 0; v < full_width; ++v) to[v] = 0;
      for (int32_t v = 0; inside && v < width; ++v) to[left + v] = x[v];
      if (inside) x += width;
    }
  }
})";

// Gathers the inputs of 16 pixels. sizes: channels, kernel height and width, strides of a plane, of a row and
// of a column of the kernel, and from one pixel to the next.
constexpr std::string_view kGatherRealConv =
    R"(ALONE static void gather_reals_$C(const float *restrict x, float *restrict to, const int32_t *places,
                                  const int32_t *sizes) {
  const int32_t step = sizes[6];
  for (int32_t c = 0; c < sizes[0]; ++c)
  for (int32_t k1 = 0; k1 < sizes[1]; ++k1)
  for (int32_t k2 = 0; k2 < sizes[2]; ++k2) {
    const float *from = x + c * sizes[3] + k1 * sizes[4] + k2 * sizes[5];
    for (int32_t q = 0; q < 16 / $C; ++q, to += $C) {
      if (step == 1) {
        for (int32_t j = 0; j < $C; ++j) to[j] = from[places[q] + j];
      } else {
        for (int32_t j = 0; j < $C; ++j) to[j] = from[places[q] + j * step];
      }
    }
  }
})";

// Writes the code before all tiles of a group, and returns the code that gathers the inputs of a tile in
// `columns`.
std::string gathering(Node& node, const ConvShape& conv, const Cut& cut, const std::string& columns) {
  const WindowAxis &h = conv.space[1], &v = conv.space[2];
  const Padded padded = padded_of(conv);
  // Chunks that are wider than a row read beyond its end.
  const std::int64_t count = conv.channels * padded.height * padded.width + kTileColumns * v.stride;
  const std::string space = node.scratch("float", count), name = fmt::format("gather_reals_{}", cut.chunk);
  node.helper("pad_reals", kPadRealConv);
  node.helper(name, filled(kGatherRealConv, {{"C", fmt::format("{}", cut.chunk)}}));
  node.line("pad_reals({} + g * {}, {}, {}, {}, {}, {}, {}, {}, {});", node.x(0),
            conv.channels * conv.inputs_of_plane(), space, conv.channels, h.input, v.input, h.before,
            v.before, padded.height, padded.width);
  std::vector<std::int32_t> sizes;
  for (const std::int64_t one : {conv.channels, h.kernel, v.kernel, padded.height * padded.width,
                                 h.dilation * padded.width, v.dilation, v.stride})
    sizes.push_back(static_cast<std::int32_t>(one));
  return fmt::format("{}({}, {}, from, {});", name, space, columns, node.int32s(sizes));
}

// The positions of a tile's chunks in the output and in the padded input.
void emit_places(Node& node, const ConvShape& conv, const Cut& cut) {
  const bool plain = conv.pointwise();
  node.line("int32_t {}to[{}];", plain ? "" : fmt::format("from[{}], ", cut.in_tile()), cut.in_tile());
  node.loop("q", cut.in_tile());
  node.line("const int32_t number = first + q < {0} ? first + q : {0};", cut.count() - 1);
  emit_chunk(node, conv, cut, plain);
  node.end();
}

// Stores the sums of `filled` rows to the output.
void emit_finish(Node& node, const ConvShape& conv, const Cut& cut, const std::string& activation) {
  node.open("for (int32_t r = 0; r < filled; ++r)");
  node.loop("q", cut.in_tile());
  node.line("const int32_t at = (g * {} + o + r) * {} + to[q];", conv.outputs, conv.outputs_of_plane());
  node.loop("j", std::min(cut.chunk, cut.width));
  std::string sum = fmt::format("sums[r * {} + q * {} + j]", kTileColumns, cut.chunk);
  if (node.has(2)) sum += fmt::format(" + {}[channel + r]", node.x(2));
  if (node.has(3)) sum += fmt::format(" + {}[at + j]", node.x(3));
  node.line("const float x = {};", sum);
  node.line("{}[at + j] = {};", node.y(), activation.empty() ? "x" : activation);
  for (int i = 0; i < 3; ++i) node.end();
}

}  // namespace

bool suits_tiles(const Node& node, const ConvShape& conv) {
  // Tiles read 16 pixels of a plane at once.
  if (conv.pointwise() && (conv.channels < kDeep || conv.inputs_of_plane() < kTileColumns)) return false;
  const auto forward = [](const WindowAxis& axis) { return axis.before >= 0; };
  return !node.small() && !node.quick() && node.in(0).type == Element::float32 && conv.flat() &&
         conv.outputs > 1 && node.out().count() > 0 && std::ranges::all_of(conv.space, forward);
}

void emit_tiled_real_conv(Node& node, const ConvShape& conv, const std::string& activation) {
  const bool plain = conv.pointwise();
  const Cut cut = plain ? Cut{1, conv.outputs_of_plane(), kTileColumns}
                        : cut_of(conv.space[1].output, conv.space[2].output);
  node.helper("real_tile", kTile);
  const std::string columns = plain ? "" : node.scratch("float", conv.depth() * kTileColumns);
  node.loop("g", conv.batch * conv.groups);
  const std::string gather = plain ? "" : gathering(node, conv, cut, columns);
  node.open("for (int32_t first = 0; first < {}; first += {})", cut.count(), cut.in_tile());
  emit_places(node, conv, cut);
  if (!plain) node.line("{}", gather);
  node.open("for (int32_t o = 0; o < {}; o += {})", conv.outputs, kRows);
  node.line("const int32_t filled = {0} - o < {1} ? {0} - o : {1};", conv.outputs, kRows);
  node.line("const int32_t channel = {}o;",
            conv.groups == 1 ? "" : fmt::format("g % {} * {} + ", conv.groups, conv.outputs));
  node.line("float sums[{}];", kRows * kTileColumns);
  const std::string x =
      plain ? fmt::format("{} + g * {} + to[0]", node.x(0), conv.channels * conv.inputs_of_plane()) : columns;
  node.line("real_tile({}, {}, {} + channel * {}, filled, {}, sums);", x,
            plain ? conv.inputs_of_plane() : kTileColumns, node.x(1), conv.depth(), conv.depth());
  emit_finish(node, conv, cut, activation);
  for (int i = 0; i < 3; ++i) node.end();
}

}  // namespace anybit::cgen
