// Depthwise integer convolution. The padded input is split by the strides of the window, so that each tap
// reads contiguous elements. A plane is one loop, which also computes unused columns between rows. Channels
// whose accumulators may exceed 32 bits use 64-bit accumulators.
#include "integer_conv.hpp"
#include "numbers.hpp"
#include "tiles.hpp"

namespace anybit::cgen {
namespace {

// sizes: height and width of the input, strides, padding above and left, height and width of the parts.
constexpr std::string_view kSplit =
    R"(ALONE static void split_$S(const $T *restrict x, int16_t *restrict to, const int32_t *sizes, int32_t zero) {
  const int32_t part = sizes[6] * sizes[7];
  for (int32_t i = 0; i < part * sizes[2] * sizes[3]; ++i) to[i] = 0;
  for (int32_t h = 0; h < sizes[0]; ++h) {
    const int32_t row = h + sizes[4];
    int16_t *line = to + row % sizes[2] * sizes[3] * part + row / sizes[2] * sizes[7];
    if (row / sizes[2] >= sizes[6]) break;
    if (sizes[3] == 1) {
      const int32_t count = sizes[1] < sizes[7] - sizes[5] ? sizes[1] : sizes[7] - sizes[5];
      line_$S(x + h * sizes[1], line + sizes[5], count, (int16_t)zero);
    } else {
      for (int32_t side = 0; side < sizes[3]; ++side) {
        const int32_t skipped = (side + sizes[3] - sizes[5] % sizes[3]) % sizes[3], at = (skipped + sizes[5]) / sizes[3];
        const int32_t there = (sizes[1] - skipped + sizes[3] - 1) / sizes[3];
        const int32_t count = there < sizes[7] - at ? there : sizes[7] - at;
        const int32_t from = h * sizes[1] + skipped;
        int16_t *numbers = line + side * part + at;
        if (sizes[3] == 2) {
          for (int32_t i = 0; i < count; ++i) numbers[i] = (int16_t)(x[from + 2 * i] - zero);
        } else {
          for (int32_t i = 0; i < count; ++i) numbers[i] = (int16_t)(x[from + i * sizes[3]] - zero);
        }
      }
    }
  }
})";

std::int64_t part_size(const WindowAxis& axis) {
  return axis.output + (axis.kernel - 1) * axis.dilation / axis.stride;
}

}  // namespace

void emit_depthwise_conv(Node& node, const IntegerConv& conv) {
  const Value &x = node.in(conv.x), &y = node.out();
  const WindowAxis &h = conv.space[1], &v = conv.space[2];
  const std::string split = fmt::format("split_{}", short_name(x));
  need_line(node, x);
  node.helper(split, filled(kSplit, {{"S", std::string(short_name(x))}, {"T", std::string(x.c())}}));
  const std::int64_t height = part_size(h), width = part_size(v), run = (h.output - 1) * width + v.output;
  const std::string parts = node.scratch("int16_t", height * width * h.stride * v.stride + kTapsSlack);
  const std::string quantized = node.scratch(y.c(), run + kTapsSlack);
  std::vector<std::int32_t> sizes, offsets;
  for (const std::int64_t one : {h.input, v.input, h.stride, v.stride, h.before, v.before, height, width})
    sizes.push_back(static_cast<std::int32_t>(one));
  for (std::int64_t k = 0; k < conv.taps(); ++k) {
    const std::int64_t row = k / v.kernel * h.dilation, column = k % v.kernel * v.dilation;
    offsets.push_back(
        static_cast<std::int32_t>((row % h.stride * v.stride + column % v.stride) * height * width +
                                  row / h.stride * width + column / v.stride));
  }
  if (offsets.size() % 2 != 0) offsets.push_back(0);
  const std::string weights = node.x(conv.w), zeros = node.int32s(conv.w_zero), in = node.x(conv.x),
                    out = node.y();
  node.line("int16_t weights[{}] = {{0}};", offsets.size());
  node.loop("g", conv.batch * conv.groups);
  node.line("{}({} + g * {}, {}, {}, {});", split, in, conv.inputs_of_plane(), parts, node.int32s(sizes),
            conv.x_zero);
  node.loop("m", conv.outputs);
  node.line("const int32_t o = g % {} * {} + m;", conv.groups, conv.outputs);
  node.line("for (int32_t k = 0; k < {0}; ++k) weights[k] = (int16_t)({1}[o * {0} + k] - {2}[o]);",
            conv.taps(), weights, zeros);
  const std::string bias = node.int32s(conv.bias), factors = node.floats(conv.factors),
                    places = node.int32s(offsets), range = code_arguments(conv.y_zero, y.info());
  const auto emit_taps = [&](const std::string& taps) {
    node.line("{}({}, {}, weights, {}, {}, {}[o], {}[o], {}, {});", taps, parts, places, offsets.size() / 2,
              run, bias, factors, range, quantized);
  };
  if (conv.largest_sum > INT32_MAX) {
    emit_taps(need_far_taps(node, y));
  } else if (conv.wide) {
    node.line("const int32_t room = {};", INT32_MAX - conv.largest_sum);
    node.open("if ({0}[o] > room || {0}[o] < -room)", bias);
    emit_taps(need_far_taps(node, y));
    node.close();
    node.open("else");
    emit_taps(need_taps(node, y));
    node.close();
  } else {
    emit_taps(need_taps(node, y));
  }
  node.loop("r", h.output);
  node.loop("c", v.output);
  node.line("{}[((g * {} + m) * {} + r) * {} + c] = {}[r * {} + c];", out, conv.outputs, h.output, v.output,
            quantized, width);
  for (int i = 0; i < 4; ++i) node.end();
}

}  // namespace anybit::cgen
