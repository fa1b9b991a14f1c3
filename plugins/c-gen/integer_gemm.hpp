// Integer GEMM, shared by QLinearMatMul, QGemm, MatMulInteger and related operators.
#pragma once

#include "quantized.hpp"

namespace anybit::cgen {

// Per-row, per-column or scalar terms: a C expression with `row` and `column` as indices.
struct Term {
  std::string expression = {};  // empty: none
  enum class By { all, row, column } by = By::all;
  bool none() const { return expression.empty(); }
};

struct IntegerGemmWork {
  std::size_t a = 0, b = 0;  // inputs
  bool trans_a = false, trans_b = false;
  std::string a_quantized = {};  // a pointer to A, if it is not input `a`
  Element a_type = Element::uint8;
  Term a_zero = {}, b_zero = {}, bias = {}, factor = {}, addend = {};
  // If set, A is read as m rows of k numbers, and B as the matching matrix, whatever their shapes.
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t y_zero = 0;  // zero point of the output
  std::int64_t largest_bias = 0;
};

// Output 0: int32 accumulators, float32 (scaled, with addend), or 8- or 16-bit integers.
void emit_integer_gemm(Node& node, const IntegerGemmWork& work);

}  // namespace anybit::cgen
