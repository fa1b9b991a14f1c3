// Activations of 8-bit tensors by lookup table: anybit's LookUp, and ONNX Runtime's QLinearSigmoid and
// QLinearLeakyRelu, whose tables are computed here.
#include <cmath>

#include "quantized.hpp"

namespace anybit::cgen {
namespace {

void look_up(Node& node) {
  if (node.in(0).info().bytes != 1 || node.in(1).count() != 256 || node.in(1).info().bytes != 1)
    node.refuse("the table must have 256 bytes, and the input must be of bytes");
  // The table has the output's type; its entries are bytes either way.
  const std::string table = node.constant(1) ? node.packed(1) : fmt::format("(const uint8_t *){}", node.x(1));
  emit_look_up(node, table, node.x(0), node.y(), node.out().count());
}

template <class F>
void by_table(Node& node, const F& f) {
  if (!is_byte(node.in(0))) node.refuse("unsupported type {}", node.in(0).info().name);
  const auto table =
      byte_table(node.in(0).info(), quantization_at(node, 1, 2), quantization_at(node, 3, 4), f);
  emit_look_up(node, node.array(Element::uint8, table.data(), 256), node.x(0), node.y(), node.out().count());
}

void sigmoid(Node& node) {
  by_table(node, [](float x) { return 1.0f / (1.0f + std::exp(-x)); });
}

void leaky_relu(Node& node) {
  const float alpha = node.real("alpha", 0.01f);
  by_table(node, [&](float x) { return x < 0 ? alpha * x : x; });
}

}  // namespace

std::span<const Descriptor> look_up_descriptors() {
  static const Descriptor all[] = {
      {.op = "LookUp", .domain = "ai.anybit", .emit = look_up, .in_place = InPlace::yes},
      {.op = "QLinearLeakyRelu", .domain = "com.microsoft", .emit = leaky_relu, .in_place = InPlace::yes},
      {.op = "QLinearSigmoid", .domain = "com.microsoft", .emit = sigmoid, .in_place = InPlace::yes},
  };
  return all;
}

}  // namespace anybit::cgen
