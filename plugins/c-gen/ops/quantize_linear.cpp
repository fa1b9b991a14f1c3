// QuantizeLinear and DequantizeLinear: per tensor, per channel or per block. Constants of less than 8 bits
// stay packed.
#include "numbers.hpp"
#include "packed.hpp"
#include "quantized.hpp"

namespace anybit::cgen {
namespace {

// Loops over a tensor with the index of each element's scale and zero point.
struct Loops {
  int depth = 0;
  std::string element, parameter;  // indices of the element and of its parameters
};

Loops open_loops(Node& node, const Value& tensor, const Value& scale) {
  if (scale.count() == 1 && scale.rank() <= 1) {
    node.loop("i", tensor.count());
    return {1, "i", "0"};
  }
  const std::size_t axis = node.axis(node.integer("axis", 1), tensor.rank());
  const std::int64_t size = tensor.dims[axis], inner = tensor.stride(axis),
                     block = node.integer("block_size", 0);
  Dims wanted = tensor.dims;
  if (block > 0) wanted[axis] = (size + block - 1) / block;
  if (block > 0 ? scale.dims != wanted : scale.count() != size)
    node.refuse("{} scales do not match '{}'", scale.count(), tensor.name);
  node.loop("o", tensor.product(0, axis));
  node.loop("a", size);
  if (inner > 1) node.loop("r", inner);
  const std::string rest = inner > 1 ? fmt::format(" * {} + r", inner) : "";
  node.line("const int32_t i = (o * {} + a){};", size, rest);
  const std::string parameter =
      block > 0 ? fmt::format("(o * {} + a / {}){}", wanted[axis], block, rest) : "a";
  return {inner > 1 ? 3 : 2, "i", parameter};
}

void close_loops(Node& node, const Loops& loops) {
  for (int i = 0; i < loops.depth; ++i) node.end();
}

std::string scale_at(Node& node, const Loops& loops) {
  const Value& scale = node.in(1);
  if (scale.constant() && scale.count() == 1) return literal(node.floats_in(1, "the scale")[0]);
  return load(node, scale, node.x(1), loops.parameter);
}

// An integer, or a float if the zero point is a small float.
std::string zero_at(Node& node, const Loops& loops) {
  if (!node.has(2)) return "0";
  const Value& zero = node.in(2);
  if (zero.constant() && zero.count() == 1 && is_integer(zero))
    return literal(node.integers_in(2, "the zero point")[0]);
  return load(node, zero, node.x(2), loops.parameter);
}

bool asks_for_half(const Node& node) {
  constexpr std::int64_t kFloat = 1;
  const std::int64_t precision = node.integer("precision", 0);
  if (precision != 0) return precision != kFloat;
  return node.in(0).info().kind == Kind::small_real && node.in(0).type == node.in(1).type;
}

void quantize(Node& node) {
  const Value &x = node.in(0), &y = node.out();
  if (asks_for_half(node)) node.refuse("quotients in float16 or bfloat16");
  const bool integer = is_integer(y);
  if (integer && (y.info().bytes > 2 || y.info().high == 0))
    node.refuse("unsupported quantized type {}", y.info().name);
  const Loops loops = open_loops(node, x, node.in(1));
  node.line("const float real = (float){} / {};", load(node, x, node.x(0), loops.element),
            scale_at(node, loops));
  const std::string zero = zero_at(node, loops);
  if (!integer) {
    node.line("{}", store(node, y, node.y(), loops.element, zero == "0" ? "real" : "real + " + zero,
                          {.saturate = node.flag("saturate", true)}));
  } else {
    const std::string name = need_any_to_code(node);
    const bool fixed = !node.has(2) || (node.constant(2) && node.in(2).count() == 1);
    const std::string ends = fixed ? code_arguments(node.integer_in(2, "the zero point", 0), y.info())
                                   : fmt::format("{0} - zero, {1} - zero, zero", y.info().low, y.info().high);
    if (!fixed) node.line("const int32_t zero = {};", zero);
    node.line("{}[{}] = ({}){}(real, {});", node.y(), loops.element, y.c(), name, ends);
  }
  close_loops(node, loops);
}

void dequantize(Node& node) {
  const Value& x = node.in(0);
  const Loops loops = open_loops(node, x, node.in(1));
  const std::string scale = scale_at(node, loops);
  std::string real;
  if (is_integer(x)) {
    const std::string zero = zero_at(node, loops);
    const std::string integer = is_packed(x) ? packed_element(node, 0, loops.element)
                                             : (x.type == Element::int32 ? "(int64_t)" : "") +
                                                   load(node, x, node.x(0), loops.element);
    real =
        zero == "0" ? fmt::format("(float)({})", integer) : fmt::format("(float)({} - ({}))", integer, zero);
  } else {
    real = load(node, x, node.x(0), loops.element);
  }
  node.line("{}", store(node, node.out(), node.y(), loops.element, fmt::format("{} * {}", real, scale)));
  close_loops(node, loops);
}

}  // namespace

std::span<const Descriptor> quantize_linear_descriptors() {
  static const Descriptor all[] = {
      {.op = "DequantizeLinear", .emit = dequantize},
      {.op = "DequantizeLinear", .domain = "com.microsoft", .emit = dequantize},
      {.op = "QuantizeLinear", .emit = quantize},
      {.op = "QuantizeLinear", .domain = "com.microsoft", .emit = quantize},
  };
  return all;
}

}  // namespace anybit::cgen
