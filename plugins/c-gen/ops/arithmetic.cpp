// Add, Sub, Mul: two tensors, spread over each other. Integers wrap, as ONNX Runtime's and anybit's do.
#include "loops.hpp"

namespace anybit::cgen {
namespace {

// Signed overflow is undefined in C: computed unsigned. Narrow types are computed in int, and narrowed.
std::string combined(const Value& value, const std::string& a, char sign, const std::string& b) {
  if (value.info().kind == Kind::small_real) return "";
  if (value.type == Element::int32) return fmt::format("(int32_t)((uint32_t){} {} (uint32_t){})", a, sign, b);
  if (value.type == Element::int64) return fmt::format("(int64_t)((uint64_t){} {} (uint64_t){})", a, sign, b);
  return fmt::format("({})({} {} {})", value.c(), a, sign, b);
}

template <char kSign>
void arithmetic(Node& node) {
  const Spread spread(node.out().dims, {node.in(0).dims, node.in(1).dims});
  spread.open(node);
  const std::string value = combined(node.out(), fmt::format("{}[{}]", node.x(0), spread.in(0)), kSign,
                                     fmt::format("{}[{}]", node.x(1), spread.in(1)));
  if (value.empty()) node.refuse("the type is {}", node.out().info().name);
  node.line("{}[{}] = {};", node.y(), spread.out(), value);
  spread.close(node);
}

}  // namespace

std::span<const Descriptor> arithmetic_descriptors() {
  static const Descriptor all[] = {{.op = "Add", .emit = arithmetic<'+'>, .in_place = InPlace::yes},
                                   {.op = "Mul", .emit = arithmetic<'*'>, .in_place = InPlace::yes},
                                   {.op = "Sub", .emit = arithmetic<'-'>, .in_place = InPlace::yes}};
  return all;
}

}  // namespace anybit::cgen
