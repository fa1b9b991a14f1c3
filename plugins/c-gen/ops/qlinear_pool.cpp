// ONNX Runtime's QLinearAveragePool and QLinearGlobalAveragePool: exact sums, requantized once.
#include <algorithm>

#include "quantized.hpp"
#include "window.hpp"

namespace anybit::cgen {
namespace {

struct Sizes {
  std::int64_t batch, channels;
  Window space;
  bool last;  // channels
};

// The requantization factor of windows with `count` elements, as anybit computes it.
float factor_of(Quantization from, Quantization to, std::int64_t count) {
  return static_cast<float>(
      static_cast<double>(from.scale) /
      (static_cast<double>(to.scale) * static_cast<double>(std::max<std::int64_t>(count, 1))));
}

// The number of elements of the window at output `o` on one axis.
std::int64_t held(const WindowAxis& axis, std::int64_t o, bool include) {
  const std::int64_t start = o * axis.stride - axis.before;
  std::int64_t count = 0;
  for (std::int64_t k = 0; k < axis.kernel; ++k) {
    const std::int64_t place = start + k * axis.dilation;
    const bool inside = place >= 0 && place < axis.input;
    // Padding counts with count_include_pad; elements beyond it (ceil_mode) never do.
    count += include ? place < axis.input + axis.after : inside;
  }
  return count;
}

void pool(Node& node, const Window& space, bool include) {
  const Value &x = node.in(0), &y = node.out();
  if (!is_code(x) || x.type != y.type) node.refuse("unsupported type {}", x.info().name);
  const Quantization from = quantization_at(node, 1, 2), to = quantization_at(node, 3, 4);
  const bool last = node.flag("channels_last");
  const std::size_t axes = space.size();
  const std::int64_t channels = x.dims[last ? axes + 1 : 1];
  std::int64_t in_count = 1, out_count = 1;
  for (const WindowAxis& axis : space) in_count *= axis.input, out_count *= axis.output;
  // Separate factors per axis would not be bit-identical to anybit: one per output.
  std::vector<float> factors;
  for (std::int64_t i = 0; i < out_count; ++i) {
    std::int64_t count = 1, rest = i;
    for (std::size_t a = axes; a-- > 0; rest /= space[a].output)
      count *= held(space[a], rest % space[a].output, include);
    factors.push_back(factor_of(from, to, count));
  }
  const bool same = std::ranges::all_of(factors, [&](float one) { return one == factors[0]; });
  const std::string factor = same ? literal(factors[0]) : node.floats(factors) + "[out]";
  node.loop("n", x.dims[0] * (last ? 1 : channels));
  if (last) node.loop("c", channels);
  if (!same || last || out_count > 1) node.line("int32_t out = 0;");
  for (std::size_t a = 0; a < axes; ++a) node.loop(fmt::format("o{}", a), space[a].output);
  std::int64_t most = x.info().high - x.info().low;
  for (const WindowAxis& axis : space) most *= axis.kernel;
  node.line("{} sum = 0;", most > INT32_MAX ? "int64_t" : "int32_t");
  std::string index = "0";
  for (std::size_t a = 0; a < axes; ++a) {
    const WindowAxis& axis = space[a];
    node.loop(fmt::format("k{}", a), axis.kernel);
    const std::string place = fmt::format("i{}", a);
    node.line("const int32_t {} = {};", place, place_in(axis, fmt::format("o{}", a), fmt::format("k{}", a)));
    if (const std::string out = outside(axis, place); !out.empty()) node.line("if ({}) continue;", out);
    index = a == 0 ? place : fmt::format("({}) * {} + {}", index, axis.input, place);
  }
  const std::string from_index = last ? fmt::format("(n * {} + {}) * {} + c", in_count, index, channels)
                                      : fmt::format("n * {} + {}", in_count, index);
  node.line("sum += {}[{}] - ({});", node.x(0), from_index, from.zero_point);
  for (std::size_t a = 0; a < axes; ++a) node.end();
  const bool counted = !same || last || out_count > 1;
  const std::string out = counted ? "out" : "0";
  const std::string to_index = last ? fmt::format("(n * {} + {}) * {} + c", out_count, out, channels)
                                    : fmt::format("n * {} + {}", out_count, out);
  node.line("{}[{}] = {};", node.y(), to_index,
            to_code(node, fmt::format("(float)sum * {}", factor), to.zero_point, y.info()));
  if (counted) node.line("++out;");
  for (std::size_t a = 0; a < axes; ++a) node.end();
  if (last) node.end();
  node.end();
}

void average_pool(Node& node) {
  const auto kernel = node.integers("kernel_shape");
  const Value& x = node.in(0);
  if (!kernel || x.rank() != kernel->size() + 2) node.refuse("kernel_shape does not match the input");
  Value in = x, out = node.out();
  if (node.flag("channels_last")) {
    for (Value* one : {&in, &out}) std::rotate(one->dims.begin() + 1, one->dims.end() - 1, one->dims.end());
  }
  pool(node, window_of(node, in, out, *kernel), node.flag("count_include_pad"));
}

void global_pool(Node& node) {
  const Value& x = node.in(0);
  Window space;
  const std::size_t first = node.flag("channels_last") ? 1 : 2;
  for (std::size_t i = 0; i + 2 < x.rank(); ++i)
    space.push_back({.input = x.dims[first + i], .kernel = x.dims[first + i]});
  pool(node, space, false);
}

}  // namespace

std::span<const Descriptor> qlinear_pool_descriptors() {
  static const Descriptor all[] = {
      {.op = "QLinearAveragePool", .domain = "com.microsoft", .emit = average_pool},
      {.op = "QLinearGlobalAveragePool", .domain = "com.microsoft", .emit = global_pool},
  };
  return all;
}

}  // namespace anybit::cgen
