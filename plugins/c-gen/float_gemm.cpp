#include "float_gemm.hpp"

#include <cstring>
#include <limits>

#include "constants.hpp"
#include "numbers.hpp"

namespace anybit::cgen {
namespace {

// Four rows at a time, so that y is loaded and stored a quarter as often.
constexpr std::string_view kAddProducts =
    R"(static void add_products$f(int32_t k, int32_t n, const $T *a, int32_t a_step, const $T *b, int32_t b_step,
                          $T *restrict y) {
  for (; k >= 4; k -= 4, a += 4 * a_step, b += 4 * b_step) {
    const $T a0 = a[0], a1 = a[a_step], a2 = a[2 * a_step], a3 = a[3 * a_step];
    const $T *b1 = b + b_step, *b2 = b1 + b_step, *b3 = b2 + b_step;
    for (int32_t j = 0; j < n; ++j) y[j] += a0 * b[j] + a1 * b1[j] + a2 * b2[j] + a3 * b3[j];
  }
  for (; k > 0; --k, a += a_step, b += b_step) {
    const $T a0 = a[0];
    for (int32_t j = 0; j < n; ++j) y[j] += a0 * b[j];
  }
})";

}  // namespace

std::string add_products(Node& node, const Value& value) {
  const std::string name = typed("add_products$f", value);
  node.helper(name, typed(kAddProducts, value));
  return name;
}

std::string computed_input(Node& node, std::size_t i) {
  const Value& value = node.in(i);
  if (value.info().kind != Kind::small_real) return node.x(i);
  const std::string copy = node.scratch("float", value.count());
  node.line("for (int32_t i = 0; i < {}; ++i) {}[i] = {};", value.count(), copy,
            load(node, value, node.x(i), "i"));
  return copy;
}

Computing computing(Node& node) {
  const Value& out = node.out();
  return {out.info().kind == Kind::small_real ? node.scratch("float", out.count()) : node.y()};
}

void Computing::keep(Node& node) const {
  const Value& out = node.out();
  if (out.info().kind != Kind::small_real) return;
  node.loop("i", out.count());
  node.line("{}", store(node, out, node.y(), "i", y + "[i]"));
  node.end();
}

std::string transposed(Node& node, const Value& value, std::int64_t rows, std::int64_t columns) {
  const auto size = static_cast<std::size_t>(value.info().bytes);
  const std::string from = unpacked(value);
  const bool matrices = rows > 0 && columns > 0 && value.count() % (rows * columns) == 0;
  if (value.count() > 0 && !matrices)
    node.refuse("'{}' has {} elements, which do not match matrices of {} by {}", value.name, value.count(),
                rows, columns);
  std::string bytes(from.size(), '\0');
  for (std::int64_t i = 0; i < value.count(); ++i) {
    const std::int64_t within = i % (rows * columns),
                       to = i - within + within % columns * rows + within / columns;
    std::memcpy(&bytes.at(static_cast<std::size_t>(to) * size), &from.at(static_cast<std::size_t>(i) * size),
                size);
  }
  return node.array(value.type, bytes.data(), value.count());
}

std::string fused_activation(const Node& node, const Value& value) {
  const std::string name = node.text("activation", "");
  const auto given = node.reals("activation_params").value_or(std::vector<float>());
  const auto parameter = [&](std::size_t i, float otherwise) {
    return number(value, i < given.size() ? given[i] : otherwise);
  };
  if (name.empty()) return "";
  if (name == "Relu") return "x < 0 ? 0 : x";
  if (name == "LeakyRelu") return fmt::format("x < 0 ? {} * x : x", parameter(0, 0.01f));
  if (name == "Sigmoid") return typed("1 / (1 + exp$f(-x))", value);
  if (name == "Silu") return typed("x / (1 + exp$f(-x))", value);
  if (name == "Tanh") return typed("tanh$f(x)", value);
  if (name == "HardSwish") return "x <= -3 ? 0 : x >= 3 ? x : x * (x + 3) / 6";
  if (name == "HardSigmoid")
    return fmt::format("{0} * x + {1} <= 0 ? 0 : {0} * x + {1} >= 1 ? 1 : {0} * x + {1}", parameter(0, 0.2f),
                       parameter(1, 0.5f));
  constexpr float kMost = std::numeric_limits<float>::max();
  if (name == "Clip")
    return fmt::format("x < {0} ? {0} : x > {1} ? {1} : x", parameter(0, -kMost), parameter(1, kMost));
  node.refuse("unsupported activation {}", name);
}

}  // namespace anybit::cgen
