// QLinearConv and ConvInteger: selects the algorithm.
#include "integer_conv.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "integer_gemm.hpp"

namespace anybit::cgen {
namespace {

template <class T>
std::vector<T> for_channels(const Node& node, std::vector<T> numbers, std::int64_t count,
                            std::string_view what) {
  const auto size = static_cast<std::size_t>(count);
  if (numbers.size() == 1) numbers.resize(size, numbers[0]);
  if (numbers.size() != size) node.refuse("{}: {} for {} channels", what, numbers.size(), count);
  return numbers;
}

std::vector<std::int32_t> integer_for_channels(const Node& node, std::size_t i, std::int64_t count,
                                               std::string_view what) {
  std::vector<std::int32_t> numbers{0};
  if (node.has(i)) {
    numbers.clear();
    for (const std::int64_t one : node.integers_in(i, what))
      numbers.push_back(static_cast<std::int32_t>(one));
  }
  return for_channels(node, std::move(numbers), count, what);
}

// The largest magnitude of an element minus its zero point, if known.
std::int64_t largest(const ElementInfo& type, std::optional<std::int64_t> zero) {
  return zero ? std::max(type.high - *zero, *zero - type.low) : type.high - type.low;
}

// Bounds of the accumulators, from the weights if they are constant.
void measure_sums(const Node& node, std::int64_t most_x, IntegerConv& conv) {
  const Value& w = node.in(conv.w);
  std::vector<std::int64_t> weights;
  if (w.constant()) weights = node.integers_in(conv.w, "the weights");
  std::int64_t most_w = 0, most_sum = 0;
  for (std::int64_t o = 0; o < conv.groups * conv.outputs; ++o) {
    const auto c = static_cast<std::size_t>(o);
    std::int64_t sum = 0;
    for (std::int64_t k = 0; k < conv.depth(); ++k) {
      const std::int64_t one =
          weights.empty()
              ? largest(w.info(), conv.w_zero[c])
              : std::abs(weights[static_cast<std::size_t>(o * conv.depth() + k)] - conv.w_zero[c]);
      most_w = std::max(most_w, one);
      sum += one;
    }
    const std::int64_t bias = conv.quantized ? std::abs(std::int64_t{conv.bias[c]}) : 0;
    most_sum = std::max(most_sum, sum);
    conv.wide |= sum * most_x + bias > INT32_MAX;
  }
  conv.largest_sum = most_sum * most_x;
  conv.parts = parts_for(most_x, most_sum);
  conv.narrow = most_w < 32768;
}

IntegerConv read(Node& node, std::size_t x_zero, std::size_t w, std::size_t w_zero, bool quantized) {
  const Value &x = node.in(0), &weight = node.in(w);
  if (!is_code(x) || !is_code(weight) || (!quantized && !(is_byte(x) && is_byte(weight))))
    node.refuse("unsupported types {} and {}", x.info().name, weight.info().name);
  IntegerConv conv{conv_shape(node, weight)};
  conv.w = w;
  conv.quantized = quantized;
  std::optional<std::int64_t> zero;
  if (!node.has(x_zero) || node.constant(x_zero)) zero = node.integer_in(x_zero, "the zero point", 0);
  conv.known_zero = zero;
  conv.x_zero = zero ? literal(*zero) : node.x(x_zero) + "[0]";
  const std::int64_t all = weight.dims[0];
  conv.w_zero = integer_for_channels(node, w_zero, all, "the weights' zero points");
  if (quantized) {
    conv.bias = integer_for_channels(node, 8, all, "the bias");
    conv.y_zero = node.integer_in(7, "the result's zero point", 0);
    const double x_scale = node.float_in(1, "the scale", 1),
                 y_scale = node.float_in(6, "the result's scale", 1);
    for (const float scale : for_channels(node, node.floats_in(4, "the weights' scales"), all, "scales"))
      conv.factors.push_back(static_cast<float>(x_scale * static_cast<double>(scale) / y_scale));
  }
  const std::int64_t most_x = largest(x.info(), zero);
  measure_sums(node, most_x, conv);
  // 32768 does not fit int16, but -32768 does.
  conv.narrow = conv.narrow && (most_x < 32768 || (x.type == Element::int16 && zero == 0));
  return conv;
}

constexpr std::int64_t kMostTaps = 32;  // that are unrolled

bool is_depthwise(const IntegerConv& conv) {
  return conv.channels == 1 && conv.groups > 1 && conv.quantized && conv.taps() <= kMostTaps;
}

// One window that covers the whole input: a GEMM.
bool is_gemm(const IntegerConv& conv) {
  for (const WindowAxis& axis : conv.space) {
    const bool apart = axis.dilation != 1 && axis.kernel > 1;
    if (axis.output != 1 || axis.kernel != axis.input || axis.before != 0 || apart) return false;
  }
  return conv.groups == 1;
}

void emit_gemm(Node& node, const IntegerConv& conv) {
  using By = Term::By;
  IntegerGemmWork work{.a = conv.x, .b = conv.w, .trans_b = true};
  work.a_type = node.in(conv.x).type;
  work.m = conv.batch;
  work.n = conv.outputs;
  work.k = conv.depth();
  if (conv.x_zero != "0") work.a_zero = {fmt::format("({})", conv.x_zero)};
  if (std::ranges::any_of(conv.w_zero, [](std::int32_t one) { return one != 0; }))
    work.b_zero = {node.int32s(conv.w_zero) + "[column]", By::column};
  if (conv.quantized) {
    work.bias = {node.int32s(conv.bias) + "[column]", By::column};
    work.factor = {node.floats(conv.factors) + "[column]", By::column};
    work.y_zero = conv.y_zero;
    for (const std::int32_t one : conv.bias)
      work.largest_bias = std::max(work.largest_bias, std::abs(std::int64_t{one}));
  }
  emit_integer_gemm(node, work);
}

void emit(Node& node, const IntegerConv& conv) {
  if (node.out().count() == 0) return;
  if (node.small() || node.quick() || !conv.flat() || !conv.narrow || !node.in(conv.w).constant())
    return emit_direct_conv(node, conv);
  if (is_depthwise(conv)) return emit_depthwise_conv(node, conv);
  if (conv.wide && !(conv.quantized && conv.parts)) return emit_direct_conv(node, conv);
  is_gemm(conv) ? emit_gemm(node, conv) : emit_tiled_conv(node, conv);
}

void qlinear_conv(Node& node) { emit(node, read(node, 2, 3, 5, true)); }
void conv_integer(Node& node) { emit(node, read(node, 2, 1, 3, false)); }

}  // namespace

std::span<const Descriptor> integer_conv_descriptors() {
  static const Descriptor all[] = {{.op = "ConvInteger", .emit = conv_integer},
                                   {.op = "QLinearConv", .emit = qlinear_conv},
                                   {.op = "QLinearConv", .domain = "ai.anybit", .emit = qlinear_conv}};
  return all;
}

}  // namespace anybit::cgen
