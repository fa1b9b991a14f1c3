// Unary elementwise operators: a table row per operator with its C expression.
#include <limits>

#include "nest.hpp"
#include "numbers.hpp"

namespace anybit::cgen {
namespace {

// `x` is the element; $f and $T as in numbers.hpp, $a and $b are attributes. Integers are signed and
// unsigned.
struct Function {
  std::string_view op, real, integer = "", natural = "";
  std::string_view a = "", b = "";
  float a_default = 0, b_default = 0;
  std::string_view domain = "";
};

constexpr Function kFunctions[] = {
    {"Abs", "fabs$f(x)", "x < 0 ? ($T)(0 - ($U)x) : x", "x"},
    {"Acos", "acos$f(x)"},
    {"Acosh", "acosh$f(x)"},
    {"Asin", "asin$f(x)"},
    {"Asinh", "asinh$f(x)"},
    {"Atan", "atan$f(x)"},
    {"Atanh", "atanh$f(x)"},
    {"BitwiseNot", "", "~x", "~x"},
    {"Ceil", "ceil$f(x)"},
    {"Celu", "x < 0 ? $a * expm1$f(x / $a) : x", "", "", "alpha", "", 1},
    {"Cos", "cos$f(x)"},
    {"Cosh", "cosh$f(x)"},
    {"Elu", "x < 0 ? $a * expm1$f(x) : x", "", "", "alpha", "", 1},
    {"Erf", "erf$f(x)", "(x > 0) - (x < 0)", "x > 0"},
    {"Exp", "exp$f(x)"},
    {"Floor", "floor$f(x)"},
    {"HardSigmoid", "$a * x + $b <= 0 ? 0 : $a * x + $b >= 1 ? 1 : $a * x + $b", "", "", "alpha", "beta",
     0.2f, 0.5f},
    {"HardSwish", "x <= -3 ? 0 : x >= 3 ? x : x * (x + 3) / 6"},
    {"LeakyRelu", "x < 0 ? $a * x : x", "", "", "alpha", "", 0.01f},
    {"Log", "log$f(x)"},
    {"Mish", "x * tanh$f((x > 0 ? x : 0) + log1p$f(exp$f(-fabs$f(x))))"},
    {"Neg", "-x", "($T)(0 - ($U)x)", "($T)(0 - ($U)x)"},
    {"QuickGelu", "x / (1 + exp$f(-$a * x))", "", "", "alpha", "", 1.702f, 0, "com.microsoft"},
    {"Reciprocal", "1 / x"},
    {"Relu", "x < 0 ? 0 : x", "x < 0 ? 0 : x", "x"},
    {"Round", "rint$f(x)"},
    {"Selu", "$b * (x < 0 ? $a * expm1$f(x) : x)", "", "", "alpha", "gamma", 1.67326319217681884765625f,
     1.05070102214813232421875f},
    {"Shrink", "x < -$a ? x + $b : x > $a ? x - $b : 0", "", "", "lambd", "bias", 0.5f, 0},
    {"Sigmoid", "1 / (1 + exp$f(-x))"},
    {"Sign", "x > 0 ? 1 : x < 0 ? -1 : x", "(x > 0) - (x < 0)", "x > 0"},
    {"Sin", "sin$f(x)"},
    {"Sinh", "sinh$f(x)"},
    {"Softplus", "(x > 0 ? x : 0) + log1p$f(exp$f(-fabs$f(x)))"},
    {"Softsign", "x / (1 + fabs$f(x))"},
    {"Sqrt", "sqrt$f(x)"},
    {"Swish", "x / (1 + exp$f(-$a * x))", "", "", "alpha", "", 1},
    {"Tan", "tan$f(x)"},
    {"Tanh", "tanh$f(x)"},
    {"ThresholdedRelu", "x > $a ? x : 0", "", "", "alpha", "", 1},
};
constexpr std::string_view kGelu = "x * erfc$f(x * -0.70710678118654752$f) / 2";
constexpr std::string_view kTanhGelu =
    "x * (1 + tanh$f(0.79788456080286536$f * (x + 0.044715$f * x * x * x))) / 2";

// y = expression of x, elementwise, after an optional bias along the last axis.
void map_elements(Node& node, const std::string& expression, bool biased = false) {
  const Value& in = node.in(0);
  node.loop("i", in.count());
  std::string x = load(node, in, node.x(0), "i");
  if (biased) x += fmt::format(" + {}", load(node, in, node.x(1), fmt::format("i % {}", node.in(1).count())));
  node.line("const {} x = {};", computed(in), x);
  node.line("{}", store(node, node.out(), node.y(), "i", expression));
  node.end();
}

void emit_function(Node& node) {
  const Value& in = node.in(0);
  for (const Function& f : kFunctions) {
    if (f.op != node.op()) continue;
    const std::string_view text = is_real(in) ? f.real : is_unsigned(in) ? f.natural : f.integer;
    if (text.empty() || is_boolean(in)) node.refuse("unsupported input type {}", in.info().name);
    return map_elements(node, typed(text, in,
                                    {{"a", f.a.empty() ? "" : number(in, node.real(f.a, f.a_default))},
                                     {"b", f.b.empty() ? "" : number(in, node.real(f.b, f.b_default))}}));
  }
}

void emit_not(Node& node) { map_elements(node, "!x"); }
void emit_is_nan(Node& node) { map_elements(node, "x != x"); }
void emit_is_infinite(Node& node) {
  const Value& in = node.in(0);
  const bool positive = node.flag("detect_positive", true), negative = node.flag("detect_negative", true);
  map_elements(node, positive && negative ? typed("fabs$f(x) == INFINITY", in)
                     : positive           ? "x == INFINITY"
                     : negative           ? "x == -INFINITY"
                                          : "((void)x, 0)");
}

void emit_gelu(Node& node) {
  map_elements(node, typed(node.text("approximate", "none") == "tanh" ? kTanhGelu : kGelu, node.in(0)));
}
void emit_fast_gelu(Node& node) { map_elements(node, typed(kTanhGelu, node.in(0)), node.has(1)); }
void emit_bias_gelu(Node& node) { map_elements(node, typed(kGelu, node.in(0)), true); }

// The largest finite number of a float type.
double most(const Value& value) {
  if (value.type == Element::float64) return std::numeric_limits<double>::max();
  if (value.type == Element::float16) return 65504;
  return value.type == Element::bfloat16 ? 0x1.FEp127 : std::numeric_limits<float>::max();
}

// Bounds are inputs since version 11, attributes before. A missing bound clamps infinity to the largest
// number.
void emit_clip(Node& node) {
  const Value& in = node.in(0);
  std::string text = "x";
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    const std::string_view name = i == 1 ? "min" : "max";
    const char order = i == 1 ? '<' : '>';
    std::string bound;
    if (node.version() < 11) {
      if (node.attribute(name)) bound = number(in, node.real(name, 0));
    } else if (node.has(i)) {
      bound = load(node, in, node.x(i), "0");
    }
    if (bound.empty() && is_real(in)) bound = number(in, i == 1 ? -most(in) : most(in));
    if (bound.empty()) continue;
    node.line("const {} {} = {};", computed(in), name, bound);
    text = fmt::format("{0} {1} {2} ? {2} : {0}", text == "x" ? text : "(" + text + ")", order, name);
  }
  map_elements(node, text);
}

std::vector<Descriptor> all_descriptors() {
  std::vector<Descriptor> all;
  for (const Function& f : kFunctions) all.push_back({f.op, f.domain, emit_function, InPlace::yes});
  all.push_back({"Not", "", emit_not, InPlace::yes});
  all.push_back({"IsNaN", "", emit_is_nan});
  all.push_back({"IsInf", "", emit_is_infinite});
  all.push_back({"Clip", "", emit_clip, InPlace::yes});
  all.push_back({"Gelu", "", emit_gelu, InPlace::yes});
  all.push_back({"Gelu", "com.microsoft", emit_gelu, InPlace::yes});
  all.push_back({"FastGelu", "com.microsoft", emit_fast_gelu, InPlace::yes});
  all.push_back({"BiasGelu", "com.microsoft", emit_bias_gelu, InPlace::yes});
  return all;
}

}  // namespace

std::span<const Descriptor> unary_descriptors() {
  static const std::vector<Descriptor> all = all_descriptors();
  return all;
}

}  // namespace anybit::cgen
