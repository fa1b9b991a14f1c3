// ONNX Runtime's QLinearConcat: concatenates 8-bit tensors, each requantized by a table. Inputs: the scale
// and zero point of the result, then each tensor with its own.
#include "quantized.hpp"

namespace anybit::cgen {
namespace {

void concat(Node& node) {
  const Value& out = node.out();
  if (!is_byte(out)) node.refuse("unsupported type {}", out.info().name);
  const std::size_t axis = node.axis(node.integer("axis", 1), out.rank());
  const Quantization to = quantization_at(node, 0, 1);
  const std::int64_t row = out.stride(axis) * out.dims[axis];
  std::int64_t at = 0;
  for (std::size_t i = 2; i < node.input_count(); i += 3) {
    const Quantization from = quantization_at(node, i + 1, i + 2);
    const std::int64_t length = node.in(i).dims[axis] * out.stride(axis);
    const auto table = byte_table(out.info(), from, to, [](float x) { return x; });
    const std::string quantized = node.array(Element::uint8, table.data(), 256);
    node.loop("i", out.product(0, axis));
    emit_look_up(node, quantized, fmt::format("{} + i * {}", node.x(i), length),
                 fmt::format("{} + i * {} + {}", node.y(), row, at), length);
    node.end();
    at += length;
  }
}

}  // namespace

std::span<const Descriptor> qlinear_concat_descriptors() {
  static const Descriptor all[] = {{.op = "QLinearConcat", .domain = "com.microsoft", .emit = concat}};
  return all;
}

}  // namespace anybit::cgen
