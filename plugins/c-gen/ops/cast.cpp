// Cast and CastLike convert the element type; BitCast reinterprets the bits.
#include "numbers.hpp"

namespace anybit::cgen {
namespace {

// Conversions that are undefined in C follow the runtime: saturate to 64 bits, then truncate.
constexpr std::string_view kInteger = R"(static int64_t to_integral$f($T number) {
  if (number != number) return 0;
  if (number >= 9223372036854775808.0$f) return INT64_MAX;
  return number < -9223372036854775808.0$f ? INT64_MIN : (int64_t)number;
})";
constexpr std::string_view kNatural = R"(static uint64_t natural_of$f($T number) {
  if (number >= 18446744073709551616.0$f) return UINT64_MAX;
  if (number >= 9223372036854775808.0$f) return (uint64_t)number;
  if (number != number) return 0;
  return number < -9223372036854775808.0$f ? (uint64_t)INT64_MIN : (uint64_t)(int64_t)number;
})";

void emit_cast(Node& node) {
  const Value &in = node.in(0), &out = node.out();
  const std::string mode = node.text("round_mode", "up");
  const Encoding how{node.flag("saturate", true), mode == "up" ? 1 : mode == "down" ? 0 : 2};
  std::string text = "x";
  if (is_boolean(out)) {
    text = "x != 0";
  } else if (is_integer(out) && is_real(in)) {
    const bool natural = out.type == Element::uint64;
    node.helper(typed(natural ? "natural_of$f" : "to_integral$f", in),
                typed(natural ? kNatural : kInteger, in));
    text = typed(natural ? "natural_of$f(x)" : "to_integral$f(x)", in);
  } else if (is_real(out) && computed(in) != computed(out)) {
    text = fmt::format("({})x", computed(out));
  }
  node.loop("i", in.count());
  node.line("const {} x = {};", computed(in), load(node, in, node.x(0), "i"));
  node.line("{}", store(node, out, node.y(), "i", text, how));
  node.end();
}

void emit_bit_cast(Node& node) {
  const Value &in = node.in(0), &out = node.out();
  if (in.info().bits < 8) {
    node.loop("i", in.count());
    if (is_integer(out)) {
      node.line("{}", store(node, out, node.y(), "i", fmt::format("{}[i]", node.x(0))));
    } else {
      node.line("{}[i] = (uint8_t)({}[i] & {});", node.y(), node.x(0), (1 << in.info().bits) - 1);
    }
    node.end();
    return;
  }
  node.line("const uint8_t *from = (const uint8_t *){};", node.x(0));
  node.line("uint8_t *to = (uint8_t *){};", node.y());
  node.loop("i", in.bytes());
  node.line("to[i] = from[i];");
  node.end();
}

}  // namespace

std::span<const Descriptor> cast_descriptors() {
  static constexpr Descriptor all[] = {
      {"Cast", "", emit_cast}, {"CastLike", "", emit_cast}, {"BitCast", "", emit_bit_cast}};
  return all;
}

}  // namespace anybit::cgen
