// DynamicQuantizeLinear: quantizes to uint8 with the tensor's own range, which includes zero.
#include "dynamic_quantize.hpp"

namespace anybit::cgen {
namespace {

void dynamic_quantize(Node& node) {
  const Value& x = node.in(0);
  if (x.type != Element::float32) node.refuse("unsupported type {}", x.info().name);
  need_dynamic_quantize(node);
  node.line("float scale;");
  node.line("const int32_t zero = dynamic_quantize({}, {}, {}, &scale);", node.x(0), node.y(), x.count());
  if (node.has_out(1)) node.line("{}[0] = scale;", node.y(1));
  if (node.has_out(2)) node.line("{}[0] = (uint8_t)zero;", node.y(2));
  if (!node.has_out(2)) node.line("(void)zero;");
}

}  // namespace

std::span<const Descriptor> dynamic_quantize_linear_descriptors() {
  static const Descriptor all[] = {{.op = "DynamicQuantizeLinear", .emit = dynamic_quantize}};
  return all;
}

}  // namespace anybit::cgen
