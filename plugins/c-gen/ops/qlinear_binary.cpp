// ONNX Runtime's QLinearAdd and QLinearMul: 8- or 16-bit tensors with broadcasting.
#include "nest.hpp"
#include "quantized.hpp"

namespace anybit::cgen {
namespace {

void pair(Node& node, bool sum) {
  const Value &a = node.in(0), &b = node.in(3), &out = node.out();
  if (!is_code(a) || a.type != b.type || out.type != a.type)
    node.refuse("the types are not one 8- or 16-bit integer type");
  const Quantization from_a = quantization_at(node, 1, 2), from_b = quantization_at(node, 4, 5),
                     to = quantization_at(node, 6, 7);
  const double a_scale = from_a.scale, b_scale = from_b.scale, out_scale = to.scale;
  const auto a_factor = static_cast<float>(sum ? a_scale / out_scale : a_scale * b_scale / out_scale);
  const auto b_factor = static_cast<float>(b_scale / out_scale);
  const Nest nest(
      out.dims,
      {{strides_of(out.dims)}, {spread_strides(a.dims, out.dims)}, {spread_strides(b.dims, out.dims)}});
  nest.open(node);
  const auto integer = [&](std::size_t input, std::size_t walk, std::int64_t zero) {
    return fmt::format("(float)({}[{}] - ({}))", node.x(input), nest.at(walk), literal(zero));
  };
  const std::string x = integer(0, 1, from_a.zero_point), y = integer(3, 2, from_b.zero_point);
  const std::string real = sum ? fmt::format("{} * {} + {} * {}", x, literal(a_factor), y, literal(b_factor))
                               : fmt::format("{} * {} * {}", x, y, literal(a_factor));
  node.line("{}[{}] = {};", node.y(), nest.at(0), to_code(node, real, to.zero_point, out.info()));
  nest.close(node);
}

void add(Node& node) { pair(node, true); }
void mul(Node& node) { pair(node, false); }

}  // namespace

std::span<const Descriptor> qlinear_binary_descriptors() {
  static const Descriptor all[] = {
      {.op = "QLinearAdd", .domain = "com.microsoft", .emit = add, .in_place = InPlace::yes},
      {.op = "QLinearMul", .domain = "com.microsoft", .emit = mul, .in_place = InPlace::yes},
  };
  return all;
}

}  // namespace anybit::cgen
