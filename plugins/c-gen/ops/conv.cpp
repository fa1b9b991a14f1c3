// Conv and ONNX Runtime's FusedConv (with a residual input and an activation); ConvTranspose, Col2Im.
#include "float_gemm.hpp"
#include "numbers.hpp"
#include "real_conv.hpp"
#include "window.hpp"

namespace anybit::cgen {
namespace {

constexpr std::int64_t kPart = 2048;  // outputs of a channel per block

struct Convolution {
  std::int64_t batch, groups, in, out;  // channels per group
  Window window;
  std::int64_t input, output, kernel;  // number of spatial elements
};

Convolution convolution_of(const Node& node, const Value& x, const Value& w, const Value& y) {
  if (!is_real(x)) node.refuse("unsupported input type {}", x.info().name);
  if (x.rank() < 3 || x.rank() != w.rank())
    node.refuse("the input has {} dimensions, the weight {}", x.rank(), w.rank());
  const std::int64_t groups = node.integer("group", 1);
  return {x.dims[0],
          groups,
          x.dims[1] / groups,
          y.dims[1] / groups,
          window_of(node, x, y, Dims(w.dims.begin() + 2, w.dims.end())),
          x.product(2, x.rank()),
          y.product(2, y.rank()),
          w.product(2, w.rank())};
}

// A row of outputs along the last axis: interior outputs apply all taps in one loop.
void emit_row(Node& node, const WindowAxis& axis, std::string_view type) {
  const std::int64_t from = axis.inside_from(), to = axis.inside_to();
  const auto tap = [&](std::int64_t k) {
    const std::int64_t shift = k * axis.dilation - axis.before;
    return fmt::format("w[{}] * x[j{}{} {} {}]", k, axis.stride == 1 ? "" : " * ",
                       axis.stride == 1 ? "" : std::to_string(axis.stride), shift < 0 ? '-' : '+',
                       shift < 0 ? -shift : shift);
  };
  const auto edge = [&](std::int64_t first, std::int64_t last) {
    if (first >= last) return;
    node.open("for (int32_t j = {}; j < {}; ++j)", first, last);
    node.loop("k", axis.kernel);
    node.line("const int32_t p = {};", place_in(axis, "j", "k"));
    node.line("if (p >= 0 && p < {}) y[j] += w[k] * x[p];", axis.input);
    node.end();
    node.end();
  };
  edge(0, from);
  if (from < to && axis.kernel <= 16) {
    std::string sum;
    for (std::int64_t k = 0; k < axis.kernel; ++k) sum += (k ? " + " : "") + tap(k);
    node.line("for (int32_t j = {}; j < {}; ++j) y[j] += {};", from, to, sum);
  } else if (from < to) {
    node.loop("k", axis.kernel);
    node.line("const {} t = w[k];", type);
    node.line("for (int32_t j = {}; j < {}; ++j) y[j] += t * x[{}];", from, to, place_in(axis, "j", "k"));
    node.end();
  }
  edge(to, axis.output);
}

// Accumulates the convolution of channel c's inputs to the outputs at `y`, row by row.
void emit_channel(Node& node, const Convolution& c, std::string_view type, const std::string& weights,
                  const std::string& inputs, const std::string& outputs) {
  const std::size_t axes = c.window.size();
  std::string rows = "0", places = "0", taps = "0";
  for (std::size_t i = 0; i + 1 < axes; ++i) {
    node.loop(fmt::format("o{}", i), c.window[i].output);
    rows = fmt::format("({}) * {} + o{}", rows, c.window[i].output, i);
  }
  const WindowAxis& last = c.window.back();
  node.line("{} *restrict y = {} + ({}) * {};", type, outputs, rows, last.output);
  node.loop("i", c.in);
  for (std::size_t i = 0; i + 1 < axes; ++i) {
    node.loop(fmt::format("k{}", i), c.window[i].kernel);
    node.line("const int32_t p{} = {};", i,
              place_in(c.window[i], fmt::format("o{}", i), fmt::format("k{}", i)));
    const std::string out = outside(c.window[i], fmt::format("p{}", i));
    if (!out.empty()) node.line("if ({}) continue;", out);
    places = fmt::format("({}) * {} + p{}", places, c.window[i].input, i);
    taps = fmt::format("({}) * {} + k{}", taps, c.window[i].kernel, i);
  }
  node.line("const {} *restrict x = {} + i * {} + ({}) * {};", type, inputs, c.input, places, last.input);
  node.line("const {} *restrict w = {} + i * {} + ({}) * {};", type, weights, c.kernel, taps, last.kernel);
  emit_row(node, last, type);
  for (std::size_t i = 0; i + 1 < axes; ++i) node.end();
  node.end();
  for (std::size_t i = 0; i + 1 < axes; ++i) node.end();
}

bool is_pointwise(const Window& window) {
  for (const WindowAxis& axis : window) {
    if (axis.kernel != 1 || axis.stride != 1 || axis.before != 0 || axis.after != 0) return false;
  }
  return true;
}

void emit_conv(Node& node) {
  const Value &x = node.in(0), &w = node.in(1), &y = node.out();
  const Convolution c = convolution_of(node, x, w, y);
  const std::string activation = fused_activation(node, x);
  if (node.has(3) && node.in(3).count() != y.count()) node.refuse("the sum's inputs have different shapes");
  if (x.rank() <= 5) {
    const ConvShape shape = conv_shape(node, w);
    if (suits_tiles(node, shape)) return emit_tiled_real_conv(node, shape, activation);
  }
  const std::string_view type = computed(x);
  const bool small = x.info().kind == Kind::small_real;
  const std::string inputs = computed_input(node, 0);
  const std::string sums = small ? node.scratch("float", c.output) : "",
                    kernels = small ? node.scratch("float", c.in * c.kernel) : "";
  node.loop("n", c.batch);
  node.loop("c", c.groups * c.out);
  const std::string group = c.groups == 1 ? "" : fmt::format(" + c / {} * {}", c.out, c.in * c.input);
  const std::string at = fmt::format("(n * {} + c) * {}", c.groups * c.out, c.output);
  node.line("{} *out = {};", type, small ? sums : fmt::format("{} + {}", node.y(), at));
  node.line("const {} *in = {} + n * {}{};", type, inputs, c.groups * c.in * c.input, group);
  const std::string first = node.has(2) ? load(node, node.in(2), node.x(2), "c") : "0";
  node.line("for (int32_t j = 0; j < {}; ++j) out[j] = {};", c.output, first);
  const std::string weights = small ? kernels : fmt::format("({} + c * {})", node.x(1), c.in * c.kernel);
  if (small)
    node.line("for (int32_t k = 0; k < {}; ++k) {}[k] = {};", c.in * c.kernel, kernels,
              load(node, w, node.x(1), fmt::format("c * {} + k", c.in * c.kernel)));
  if (is_pointwise(c.window)) {
    const std::string add = add_products(node, x);
    const std::int64_t parts = c.output / kPart, rest = c.output % kPart;
    if (parts > 0) {
      node.loop("part", parts);
      node.line("{}({}, {}, {}, 1, in + part * {}, {}, out + part * {});", add, c.in, kPart, weights, kPart,
                c.input, kPart);
      node.end();
    }
    if (rest > 0)
      node.line("{}({}, {}, {}, 1, in + {}, {}, out + {});", add, c.in, rest, weights, parts * kPart, c.input,
                parts * kPart);
  } else {
    emit_channel(node, c, type, weights, "in", "out");
  }
  if (node.has(3) || !activation.empty()) {
    node.loop("j", c.output);
    std::string sum = "out[j]";
    if (node.has(3)) sum += " + " + load(node, node.in(3), node.x(3), at + " + j");
    node.line("const {} x = {};", type, sum);
    node.line("out[j] = {};", activation.empty() ? "x" : activation);
    node.end();
  }
  if (small) {
    node.loop("j", c.output);
    node.line("{}", store(node, y, node.y(), at + " + j", "out[j]"));
    node.end();
  }
  node.end();
  node.end();
}

// Each input element scatters the kernel: the window slides over the output.
void emit_transposed(Node& node) {
  const Value &x = node.in(0), &w = node.in(1), &y = node.out();
  const Convolution c = convolution_of(node, x, w, y);
  Window window = c.window;
  const std::string padding = node.text("auto_pad", "NOTSET");
  const bool sized = padding.starts_with("SAME") || node.integers("output_shape");
  const auto added = node.integers("output_padding");
  for (std::size_t i = 0; i < window.size(); ++i) {
    WindowAxis& axis = window[i];
    if (!sized) continue;
    const std::int64_t whole =
        axis.stride * (axis.input - 1) + (added ? (*added)[i] : 0) + axis.dilation * (axis.kernel - 1) + 1;
    const std::int64_t surplus = std::max<std::int64_t>(0, whole - axis.output);
    axis.before = padding == "SAME_UPPER" ? surplus / 2 : surplus - surplus / 2;
  }
  const std::string weights = computed_input(node, 1);
  const Computing to_sum = computing(node);
  node.loop("i", y.count());
  const std::string channel_of = fmt::format("i / {} % {}", c.output, y.dims[1]);
  node.line("{}[i] = {};", to_sum.y, node.has(2) ? load(node, node.in(2), node.x(2), channel_of) : "0");
  node.end();
  node.loop("n", c.batch);
  node.loop("i", c.groups * c.in);
  node.loop("c", c.out);
  std::string from = "0", to = "0", tap = "0";
  for (std::size_t a = 0; a < window.size(); ++a) {
    node.loop(fmt::format("p{}", a), window[a].input);
    from = fmt::format("({}) * {} + p{}", from, window[a].input, a);
  }
  const std::string place = fmt::format("(n * {} + i) * {} + {}", x.dims[1], c.input, from);
  node.line("const {} x = {};", computed(x), load(node, x, node.x(0), place));
  for (std::size_t a = 0; a < window.size(); ++a) {
    node.loop(fmt::format("k{}", a), window[a].kernel);
    node.line("const int32_t o{0} = p{0} * {1} + k{0} * {2} - {3};", a, window[a].stride, window[a].dilation,
              window[a].before);
    node.line("if (o{0} < 0 || o{0} >= {1}) continue;", a, window[a].output);
    to = fmt::format("({}) * {} + o{}", to, window[a].output, a);
    tap = fmt::format("({}) * {} + k{}", tap, window[a].kernel, a);
  }
  const std::string channel = c.groups == 1 ? "c" : fmt::format("i / {} * {} + c", c.in, c.out);
  node.line("{}[(n * {} + {}) * {} + {}] += x * {}[(i * {} + c) * {} + {}];", to_sum.y, y.dims[1], channel,
            c.output, to, weights, c.out, c.kernel, tap);
  for (std::size_t a = 0; a < 2 * window.size() + 3; ++a) node.end();
  to_sum.keep(node);
}

// Adds up image blocks, one per column, where they overlap: [batch, channels · block, columns].
void emit_blocks(Node& node) {
  const Value &x = node.in(0), &y = node.out();
  if (x.info().kind != Kind::real) node.refuse("unsupported input type {}", x.info().name);
  const Dims block = node.integers_in(2, "the blocks' shape");
  Window window = window_of(node, y, y, block);
  node.loop("i", y.count());
  node.line("{}[i] = 0;", node.y());
  node.end();
  node.loop("m", y.dims[0] * y.dims[1]);
  std::string tap = "m", column = "0", place = "m";
  for (std::size_t a = 0; a < window.size(); ++a) {
    WindowAxis& axis = window[a];
    axis.output =
        (axis.input + axis.before + axis.after - axis.dilation * (axis.kernel - 1) - 1) / axis.stride + 1;
    node.loop(fmt::format("k{}", a), axis.kernel);
    node.loop(fmt::format("o{}", a), axis.output);
    node.line("const int32_t p{} = {};", a, place_in(axis, fmt::format("o{}", a), fmt::format("k{}", a)));
    const std::string out = outside(axis, fmt::format("p{}", a));
    if (!out.empty()) node.line("if ({}) continue;", out);
    tap = fmt::format("({}) * {} + k{}", tap, axis.kernel, a);
    column = fmt::format("({}) * {} + o{}", column, axis.output, a);
    place = fmt::format("({}) * {} + p{}", place, axis.input, a);
  }
  node.line("{}[{}] += {}[({}) * {} + {}];", node.y(), place, node.x(0), tap, x.dims[2], column);
  for (std::size_t a = 0; a < 2 * window.size() + 1; ++a) node.end();
}

}  // namespace

std::span<const Descriptor> conv_descriptors() {
  static constexpr Descriptor all[] = {
      {"Col2Im", "", emit_blocks},
      {"Conv", "", emit_conv},
      {"ConvTranspose", "", emit_transposed},
      {"FusedConv", "com.microsoft", emit_conv},
  };
  return all;
}

}  // namespace anybit::cgen
