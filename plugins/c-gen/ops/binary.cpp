// Binary and variadic elementwise operators with broadcasting: a table row per operator with its C
// expression.
#include "nest.hpp"
#include "numbers.hpp"

namespace anybit::cgen {
namespace {

// `a` and `b` are the elements; $f, $T and $U as in numbers.hpp. Integers are signed and unsigned.
struct Pair {
  std::string_view op, real, integer = "", natural = integer;
  bool boolean = false;  // also takes booleans
};

constexpr std::string_view kPythonRest =
    "b == 0 || b == -1 ? 0 : a % b != 0 && (a % b < 0) != (b < 0) ? a % b + b : a % b";
constexpr std::string_view kRealRest =
    "fmod$f(a, b) != 0 && (fmod$f(a, b) < 0) != (b < 0) ? fmod$f(a, b) + b : fmod$f(a, b)";

constexpr Pair kBinary[] = {
    {"Add", "a + b", "($T)(($U)a + ($U)b)"},
    {"And", "", "", "a && b", true},
    {"BitwiseAnd", "", "a & b"},
    {"BitwiseOr", "", "a | b"},
    {"BitwiseXor", "", "a ^ b"},
    {"Div", "a / b", "b == 0 ? 0 : b == -1 ? ($T)(0 - ($U)a) : a / b", "b == 0 ? 0 : a / b"},
    {"Equal", "a == b", "a == b", "a == b", true},
    {"Greater", "a > b", "a > b"},
    {"GreaterOrEqual", "a >= b", "a >= b"},
    {"Less", "a < b", "a < b"},
    {"LessOrEqual", "a <= b", "a <= b"},
    {"Max", "a > b || a != a ? a : b", "a > b ? a : b"},
    {"Mean", "a + b"},
    {"Min", "a < b || a != a ? a : b", "a < b ? a : b"},
    {"Mod", kRealRest, kPythonRest, "b == 0 ? 0 : a % b"},
    {"Mul", "a * b", "($T)(($U)a * ($U)b)"},
    {"Or", "", "", "a || b", true},
    {"PRelu", "a < 0 ? a * b : a", "a < 0 ? ($T)(($U)a * ($U)b) : a", "((void)b, a)"},
    {"Sub", "a - b", "($T)(($U)a - ($U)b)"},
    {"Sum", "a + b", "($T)(($U)a + ($U)b)"},
    {"Xor", "", "", "a != b", true},
};

Nest nest_of(const Node& node) {
  const Dims& dims = node.out().dims;
  std::vector<Walk> walks = {{strides_of(dims)}};
  for (std::size_t i = 0; i < node.input_count(); ++i)
    walks.push_back({spread_strides(node.in(i).dims, dims)});
  return {dims, walks};
}

// The dims of input 1 after the `axis` broadcasting of version 6 and older.
void check_old_broadcast(const Node& node) {
  if (node.version() < 7 && node.attribute("axis"))
    node.refuse("its inputs are matched by an attribute, as before opset 7");
}

// Folds all inputs into `a`; then y = `last`.
void fold(Node& node, const std::string& expression, std::string_view last = "a") {
  check_old_broadcast(node);
  const Nest nest = nest_of(node);
  const std::size_t count = node.input_count();
  const std::string_view type = computed(node.in(0));
  nest.open(node);
  const auto element = [&](std::size_t i) { return load(node, node.in(i), node.x(i), nest.at(i + 1)); };
  if (count == 2 && last == "a") {
    node.line("const {} a = {}, b = {};", type, element(0), element(1));
    node.line("{}", store(node, node.out(), node.y(), nest.at(0), expression));
  } else {
    node.line("{} a = {};", type, element(0));
    for (std::size_t i = 1; i < count; ++i) {
      node.open("");
      node.line("const {} b = {};", type, element(i));
      node.line("a = {};", expression);
      node.close();
    }
    node.line("{}", store(node, node.out(), node.y(), nest.at(0), last));
  }
  nest.close(node);
}

std::string_view expression_of(const Node& node) {
  const Value& in = node.in(0);
  for (const Pair& pair : kBinary) {
    if (pair.op != node.op()) continue;
    std::string_view text = is_real(in) ? pair.real : is_unsigned(in) ? pair.natural : pair.integer;
    if (is_boolean(in) && !pair.boolean) text = "";
    if (text.empty()) node.refuse("unsupported input type {}", in.info().name);
    return text;
  }
  return "";
}

void emit_pair(Node& node) { fold(node, typed(expression_of(node), node.in(0))); }

void emit_mean(Node& node) {
  const std::string count = number(node.in(0), static_cast<double>(node.input_count()));
  fold(node, typed(expression_of(node), node.in(0)), "a / " + count);
}

void emit_mod(Node& node) {
  const Value& in = node.in(0);
  if (!node.flag("fmod")) return emit_pair(node);
  fold(node, is_real(in)       ? typed("fmod$f(a, b)", in)
             : is_unsigned(in) ? "b == 0 ? 0 : a % b"
                               : "b == 0 || b == -1 ? 0 : a % b");
}

void emit_shift(Node& node) {
  const std::string_view sign = node.text("direction", "") == "LEFT" ? "<<" : ">>";
  fold(node, fmt::format("b >= {} ? 0 : (uint64_t)a {} b", node.in(0).info().bits, sign));
}

constexpr std::string_view kIntegerPower =
    R"(static uint64_t integer_power(uint64_t base, uint64_t exponent) {
  uint64_t result = 1;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result *= base;
    base *= base;
  }
  return result;
})";

// Base and exponent may have different types; the result has the base's.
void emit_pow(Node& node) {
  check_old_broadcast(node);
  const Value &base = node.in(0), &by = node.in(1);
  const Nest nest = nest_of(node);
  nest.open(node);
  node.line("const {} a = {};", computed(base), load(node, base, node.x(0), nest.at(1)));
  std::string text;
  const bool single = node.constant(1) && by.count() == 1 && is_real(by) && is_real(base);
  const float exponent = single ? node.float_in(1, "the exponent", 0) : 0;
  if (exponent == 2 || exponent == 3) {
    text = exponent == 2 ? "a * a" : "a * a * a";
  } else {
    node.line("const {} b = {};", computed(by), load(node, by, node.x(1), nest.at(2)));
    if (is_real(base)) {
      text = typed("pow$f(a, ($T)b)", base);
    } else if (is_real(by)) {
      text = "pow((double)a, (double)b)";
    } else {
      node.helper("integer_power", kIntegerPower);
      text = "integer_power((uint64_t)a, (uint64_t)b)";
      const std::string_view inverse =
          is_unsigned(base) ? "a == 1" : "a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0";
      if (!is_unsigned(by)) text = fmt::format("b < 0 ? (uint64_t)({}) : {}", inverse, text);
    }
  }
  node.line("{}", store(node, node.out(), node.y(), nest.at(0), text));
  nest.close(node);
}

// Only copies elements, of any type.
void emit_where(Node& node) {
  const Nest nest = nest_of(node);
  nest.open(node);
  node.line("{}[{}] = {}[{}] ? {}[{}] : {}[{}];", node.y(), nest.at(0), node.x(0), nest.at(1), node.x(1),
            nest.at(2), node.x(2), nest.at(3));
  nest.close(node);
}

std::vector<Descriptor> all_descriptors() {
  std::vector<Descriptor> all;
  for (const Pair& pair : kBinary) {
    const auto emit = pair.op == "Mod" ? emit_mod : pair.op == "Mean" ? emit_mean : emit_pair;
    all.push_back({pair.op, "", emit, InPlace::yes});
  }
  all.push_back({"BitShift", "", emit_shift, InPlace::yes});
  all.push_back({"Pow", "", emit_pow, InPlace::yes});
  all.push_back({"Where", "", emit_where, InPlace::yes});
  return all;
}

}  // namespace

std::span<const Descriptor> binary_descriptors() {
  static const std::vector<Descriptor> all = all_descriptors();
  return all;
}

}  // namespace anybit::cgen
