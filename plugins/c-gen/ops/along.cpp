// Operators along one axis: ArgMax, ArgMin, TopK, CumSum, CumProd, Softmax, LogSoftmax, Hardmax,
// LpNormalization.
#include "numbers.hpp"
#include "rows.hpp"

namespace anybit::cgen {
namespace {

void emit_arg(Node& node) {
  const Value& in = node.in(0);
  const Rows rows = rows_along(in, node.axis(node.integer("axis", 0), in.rank()));
  const bool last = node.flag("select_last_index");
  rows.open(node);
  node.line("{} best = {};", computed(in), load(node, in, node.x(0), rows.at("0")));
  node.line("int32_t at = 0;");
  node.open("for (int32_t j = 1; j < {}; ++j)", rows.n);
  node.line("const {} x = {};", computed(in), load(node, in, node.x(0), rows.at("j")));
  node.open("if (x {}{} best)", node.op() == "ArgMax" ? '>' : '<', last ? "=" : "");
  node.line("best = x;");
  node.line("at = j;");
  node.close();
  node.close();
  node.line("{}[{}] = at;", node.y(), rows.at("0", 1));
  rows.close(node);
}

// Insertion into the sorted output; ties keep the first element.
void emit_top_k(Node& node) {
  const Value& in = node.in(0);
  const std::size_t axis = node.axis(node.integer("axis", -1), in.rank());
  const Rows rows = rows_along(in, axis);
  const std::int64_t k = node.out().dims[axis];
  if (k == 0) return;
  if (in.info().kind == Kind::small_real) node.refuse("unsupported input type {}", in.info().name);
  const std::string values = node.y(0), places = node.y(1);
  rows.open(node);
  node.loop("j", rows.n);
  node.line("const {} x = {}[{}];", in.c(), node.x(0), rows.at("j"));
  node.line("int32_t p = j < {0} ? j : {0};", k);
  node.open("while (p > 0 && x {} {}[{}])", node.flag("largest", true) ? '>' : '<', values,
            rows.at("p - 1", k));
  node.open("if (p < {})", k);
  node.line("{}[{}] = {}[{}];", values, rows.at("p", k), values, rows.at("p - 1", k));
  node.line("{}[{}] = {}[{}];", places, rows.at("p", k), places, rows.at("p - 1", k));
  node.close();
  node.line("--p;");
  node.close();
  node.open("if (p < {})", k);
  node.line("{}[{}] = x;", values, rows.at("p", k));
  node.line("{}[{}] = j;", places, rows.at("p", k));
  node.close();
  node.end();
  rows.close(node);
}

void emit_cumulative(Node& node) {
  const Value& in = node.in(0);
  const bool sum = node.op() == "CumSum", exclusive = node.flag("exclusive");
  const Rows rows = rows_along(in, node.axis(node.integer_in(1, "the axis", 0), in.rank()));
  const std::string type(is_real(in) ? computed(in) : wrapping(in));
  rows.open(node);
  node.line("{} s = {};", type, sum ? 0 : 1);
  node.loop("j", rows.n);
  const std::string at = node.flag("reverse") ? rows.at(fmt::format("{} - j", rows.n - 1)) : rows.at("j");
  node.line("const {0} x = ({0}){1};", type, load(node, in, node.x(0), at));
  if (!exclusive) node.line("s {}= x;", sum ? '+' : '*');
  node.line("{}", store(node, node.out(), node.y(), at, "s"));
  if (exclusive) node.line("s {}= x;", sum ? '+' : '*');
  node.end();
  rows.close(node);
}

// exp(x) for x <= 0: 2^n · e^r. Adding 1.5 · 2^23 rounds to an integer in the lowest bits. Unlike the library
// function, compilers vectorize it.
constexpr std::string_view kExpBelow = R"(INLINE float exp_below(float x) {
  const float least = x < -87 ? -87 : x, shifted = least * 1.44269504f + 12582912.0f, n = shifted - 12582912.0f;
  const float r = (least - n * 0.693359375f) + n * 2.12194440e-4f;
  const float fit = (((0.00138145964f * r + 0.00836871709f) * r + 0.0416683881f) * r + 0.166665206f) * r + 0.499999934f;
  union { float real; uint32_t bits; } power;
  power.real = shifted;
  power.bits = (power.bits << 23) + 0x3F800000u;
  return x < -87 ? 0 : (fit * (r * r) + (r + 1)) * power.real;
})";

// Eight partial maxima and sums, also for vectorization.
constexpr std::string_view kSoftmax = R"(ALONE static void softmax(float *y, int32_t n) {
  float most[8], sums[8], largest, sum = 0;
  int32_t j = 0;
  for (int32_t i = 0; i < 8; ++i) most[i] = -INFINITY, sums[i] = 0;
  for (; j + 8 <= n; j += 8)
    for (int32_t i = 0; i < 8; ++i) most[i] = y[j + i] > most[i] ? y[j + i] : most[i];
  for (; j < n; ++j) most[0] = y[j] > most[0] ? y[j] : most[0];
  largest = most[0];
  for (int32_t i = 1; i < 8; ++i) largest = most[i] > largest ? most[i] : largest;
  for (j = 0; j < n; ++j) y[j] = exp_below(y[j] - largest);
  for (j = 0; j + 8 <= n; j += 8)
    for (int32_t i = 0; i < 8; ++i) sums[i] += y[j + i];
  for (; j < n; ++j) sums[0] += y[j];
  for (int32_t i = 0; i < 8; ++i) sum += sums[i];
  sum = 1 / sum;
  for (j = 0; j < n; ++j) y[j] *= sum;
})";

// Contiguous rows of float32.
void emit_row_softmax(Node& node, const Rows& rows) {
  node.helper("exp_below", kExpBelow);
  node.helper("softmax", kSoftmax);
  const std::string x = node.x(0), y = node.y();
  if (x != y) {
    node.loop("i", rows.outer * rows.n);
    node.line("{}[i] = {}[i];", y, x);
    node.end();
  }
  node.line("for (int32_t o = 0; o < {0}; ++o) softmax({1} + o * {2}, {2});", rows.outer, y, rows.n);
}

// Before version 13 the input is flattened to a matrix at the axis.
Rows softmax_rows(const Node& node) {
  const Value& in = node.in(0);
  if (in.rank() == 0) return {1, 1, 1};
  const bool matrix = node.version() < 13;
  const std::size_t axis = node.axis(node.integer("axis", matrix && in.rank() > 1 ? 1 : -1), in.rank());
  return matrix ? Rows{in.product(0, axis), in.product(axis, in.rank()), 1} : rows_along(in, axis);
}

void emit_softmax(Node& node) {
  const Value& in = node.in(0);
  const Rows rows = softmax_rows(node);
  if (!is_real(in)) node.refuse("unsupported input type {}", in.info().name);
  constexpr std::int64_t kLong = 16;
  if (node.op() == "Softmax" && in.type == Element::float32 && rows.inner == 1 && rows.n >= kLong &&
      !node.small() && !node.quick())
    return emit_row_softmax(node, rows);
  const std::string x = load(node, in, node.x(0), rows.at("j"));
  rows.open(node);
  node.line("{} most = -INFINITY, s = 0;", computed(in));
  node.loop("j", rows.n);
  node.line("const {} x = {};", computed(in), x);
  node.line("if (x > most) most = x;");
  node.end();
  node.loop("j", rows.n);
  if (node.op() == "LogSoftmax") {
    node.line("s += {};", typed("exp$f($x - most)", in, {{"x", x}}));
    node.end();
    node.line("{}", typed("most += log$f(s);", in));
    node.loop("j", rows.n);
    node.line("{}", store(node, node.out(), node.y(), rows.at("j"), x + " - most"));
  } else {
    node.line("const {} e = {};", computed(in), typed("exp$f($x - most)", in, {{"x", x}}));
    node.line("s += e;");
    node.line("{}", store(node, node.out(), node.y(), rows.at("j"), "e"));
    node.end();
    node.line("s = 1 / s;");
    node.loop("j", rows.n);
    node.line("{}", store(node, node.out(), node.y(), rows.at("j"),
                          load(node, node.out(), node.y(), rows.at("j")) + " * s"));
  }
  node.end();
  rows.close(node);
}

void emit_hardmax(Node& node) {
  const Value& in = node.in(0);
  const Rows rows = softmax_rows(node);
  rows.open(node);
  node.line("{} most = -INFINITY;", computed(in));
  node.line("int32_t at = 0;");
  node.loop("j", rows.n);
  node.line("const {} x = {};", computed(in), load(node, in, node.x(0), rows.at("j")));
  node.open("if (x > most)");
  node.line("most = x;");
  node.line("at = j;");
  node.close();
  node.end();
  node.loop("j", rows.n);
  node.line("{}", store(node, node.out(), node.y(), rows.at("j"), "j == at"));
  node.end();
  rows.close(node);
}

void emit_lp_normalization(Node& node) {
  const Value& in = node.in(0);
  const Rows rows = rows_along(in, node.axis(node.integer("axis", -1), in.rank()));
  const std::int64_t p = node.integer("p", 2);
  if (p != 1 && p != 2) node.refuse("p is {}, not 1 or 2", p);
  const std::string x = load(node, in, node.x(0), rows.at("j"));
  rows.open(node);
  node.line("{} s = 0;", computed(in));
  node.loop("j", rows.n);
  node.line("const {} x = {};", computed(in), x);
  node.line("s += {};", p == 2 ? "x * x" : typed("fabs$f(x)", in));
  node.end();
  if (p == 2) node.line("{}", typed("s = sqrt$f(s);", in));
  node.line("if (s == 0) s = 1;");
  node.loop("j", rows.n);
  node.line("{}", store(node, node.out(), node.y(), rows.at("j"), x + " / s"));
  node.end();
  rows.close(node);
}

}  // namespace

std::span<const Descriptor> along_descriptors() {
  static constexpr Descriptor all[] = {
      {"ArgMax", "", emit_arg},
      {"ArgMin", "", emit_arg},
      {"CumProd", "", emit_cumulative},
      {"CumSum", "", emit_cumulative},
      {"Hardmax", "", emit_hardmax},
      {"LogSoftmax", "", emit_softmax, InPlace::yes},
      {"LpNormalization", "", emit_lp_normalization, InPlace::yes},
      {"Softmax", "", emit_softmax, InPlace::yes},
      {"TopK", "", emit_top_k},
  };
  return all;
}

}  // namespace anybit::cgen
