// Integer GEMM operators: QLinearMatMul, MatMulInteger, and ONNX Runtime's QGemm, MatMulIntegerToFloat and
// DynamicQuantizeMatMul.
#include <algorithm>
#include <cmath>

#include "dynamic_quantize.hpp"
#include "integer_gemm.hpp"
#include "numbers.hpp"

namespace anybit::cgen {
namespace {

using By = Term::By;

// Input `i` as a per-row or per-column term; there are `count` of them.
Term term(Node& node, std::size_t i, By by, std::int64_t count) {
  if (!node.has(i)) return {};
  const Value& value = node.in(i);
  if (value.count() != 1 && value.count() != count)
    node.refuse("input {} has {} numbers for {} rows or columns", i, value.count(), count);
  if (value.count() > 1) return {load(node, value, node.x(i), by == By::row ? "row" : "column"), by};
  if (!value.constant()) return {load(node, value, node.x(i), "0")};
  if (is_real(value)) return {literal(node.floats_in(i, "a number")[0])};
  const std::int64_t number = node.integers_in(i, "a number")[0];
  return number == 0 ? Term{} : Term{fmt::format("({})", number)};
}

// Drops zero points that are zero.
Term zero(Node& node, std::size_t i, By by, std::int64_t count) {
  if (node.constant(i)) {
    const auto all = node.integers_in(i, "zero points");
    if (std::ranges::all_of(all, [](std::int64_t one) { return one == 0; })) return {};
  }
  return term(node, i, by, count);
}

std::int64_t rows_of(const Value& a, bool transposed) {
  if (a.rank() < 2) return 1;
  return transposed ? a.dims.back() : a.dims[a.rank() - 2];
}
std::int64_t columns_of(const Value& b, bool transposed) {
  if (b.rank() < 2) return 1;
  return transposed ? b.dims[b.rank() - 2] : b.dims.back();
}

// scale A · scale B / scale Y, rounded once.
Term factor(Node& node, std::size_t a, std::size_t b, double divisor, std::int64_t rows,
            std::int64_t columns) {
  if (!node.constant(a) || !node.constant(b)) {
    const Term left = term(node, a, By::row, rows), right = term(node, b, By::column, columns);
    return {fmt::format("(float)((double){} * (double){} / {})", left.expression, right.expression,
                        literal(divisor)),
            left.by == By::row ? By::row : right.by};
  }
  const auto a_scales = node.floats_in(a, "scales"), b_scales = node.floats_in(b, "scales");
  const auto fits = [](std::size_t size, std::int64_t count) {
    return size == 1 || size == static_cast<std::size_t>(count);
  };
  if (!fits(a_scales.size(), rows) || !fits(b_scales.size(), columns))
    node.refuse("{} and {} scales", a_scales.size(), b_scales.size());
  std::vector<float> factors;
  for (const float left : a_scales) {
    for (const float right : b_scales)
      factors.push_back(static_cast<float>(static_cast<double>(left) * static_cast<double>(right) / divisor));
  }
  if (factors.size() == 1) return {literal(factors[0])};
  const std::string array = node.floats(factors);
  if (a_scales.size() == 1) return {array + "[column]", By::column};
  if (b_scales.size() == 1) return {array + "[row]", By::row};
  return {fmt::format("{}[row * {} + column]", array, columns), By::row};
}

IntegerGemmWork gemm_of(Node& node, std::size_t b, std::size_t a_zero, std::size_t b_zero) {
  IntegerGemmWork work{.a = 0, .b = b};
  if (node.op() == "QGemm") {  // attributes of other operators are ignored
    work.trans_a = node.flag("transA");
    work.trans_b = node.flag("transB");
  }
  work.a_type = node.in(0).type;
  if (!is_integer(node.in(0)) || !is_integer(node.in(b)))
    node.refuse("unsupported types {} and {}", node.in(0).info().name, node.in(b).info().name);
  work.a_zero = zero(node, a_zero, By::row, rows_of(node.in(0), work.trans_a));
  work.b_zero = zero(node, b_zero, By::column, columns_of(node.in(b), work.trans_b));
  return work;
}

void matmul_integer(Node& node) { emit_integer_gemm(node, gemm_of(node, 1, 2, 3)); }

Term factor_of(Node& node, const IntegerGemmWork& work, std::size_t a_scale, std::size_t b_scale,
               double divisor) {
  return factor(node, a_scale, b_scale, divisor, rows_of(node.in(work.a), work.trans_a),
                columns_of(node.in(work.b), work.trans_b));
}

void qlinear_matmul(Node& node) {
  IntegerGemmWork work = gemm_of(node, 3, 2, 5);
  work.y_zero = node.integer_in(7, "the result's zero point", 0);
  work.factor = factor_of(node, work, 1, 4, static_cast<double>(node.float_in(6, "the result's scale", 1)));
  emit_integer_gemm(node, work);
}

void qgemm(Node& node) {
  IntegerGemmWork work = gemm_of(node, 3, 2, 5);
  const std::int64_t rows = node.out().dims[0], columns = node.out().dims[1];
  if (node.has(6)) {
    for (const std::int64_t one : node.integers_in(6, "the bias"))
      work.largest_bias = std::max(work.largest_bias, std::abs(one));
    const Dims& c = node.in(6).dims;
    const bool by_row = c.size() == 2 && c[0] == rows && rows > 1,
               by_column = !c.empty() && c.back() == columns;
    const std::string row = by_row ? fmt::format("row * {}", by_column ? columns : 1) : "";
    const std::string column = by_column ? "column" : "";
    const std::string index =
        row.empty() && column.empty() ? "0" : row + (row.empty() || column.empty() ? "" : " + ") + column;
    work.bias = {fmt::format("{}[{}]", node.x(6), index), by_row ? By::row : By::column};
  }
  const double alpha = static_cast<double>(node.real("alpha", 1));
  const bool quantized = node.has(7) && node.has(8);
  const double scale = quantized ? static_cast<double>(node.float_in(7, "the result's scale", 1)) : 1.0;
  work.y_zero = quantized ? node.integer_in(8, "the result's zero point", 0) : 0;
  work.factor = factor_of(node, work, 1, 4, scale / alpha);
  emit_integer_gemm(node, work);
}

void matmul_integer_to_float(Node& node) {
  IntegerGemmWork work = gemm_of(node, 1, 4, 5);
  work.factor = factor_of(node, work, 2, 3, 1);
  work.addend = term(node, 6, By::column, columns_of(node.in(1), false));
  emit_integer_gemm(node, work);
}

void dynamic_quantize_matmul(Node& node) {
  const Value& a = node.in(0);
  if (a.type != Element::float32) node.refuse("unsupported type {}", a.info().name);
  need_dynamic_quantize(node);
  IntegerGemmWork work{.a = 0, .b = 1};
  const std::int64_t columns = columns_of(node.in(1), false);
  work.a_quantized = node.scratch("uint8_t", a.count());
  work.a_zero = {"zero"};
  work.b_zero = zero(node, 3, By::column, columns);
  const Term scale = term(node, 2, By::column, columns);
  work.factor = {fmt::format("(float)((double)scale * (double){})", scale.expression), scale.by};
  work.addend = term(node, 4, By::column, columns);
  node.line("float scale;");
  node.line("const int32_t zero = dynamic_quantize({}, {}, {}, &scale);", node.x(0), work.a_quantized,
            a.count());
  emit_integer_gemm(node, work);
}

}  // namespace

std::span<const Descriptor> matmul_integer_descriptors() {
  static const Descriptor all[] = {
      {.op = "DynamicQuantizeMatMul", .domain = "com.microsoft", .emit = dynamic_quantize_matmul},
      {.op = "MatMulInteger", .emit = matmul_integer},
      {.op = "MatMulIntegerToFloat", .domain = "com.microsoft", .emit = matmul_integer_to_float},
      {.op = "QGemm", .domain = "com.microsoft", .emit = qgemm},
      {.op = "QLinearMatMul", .emit = qlinear_matmul},
  };
  return all;
}

}  // namespace anybit::cgen
