// Products of matrices of whole numbers: what QLinearMatMul, QGemm, MatMulInteger and their kin share.
#pragma once

#include "quantized.hpp"

namespace anybit::cgen {

// Numbers for a row, a column or all: a C expression, with `row` and `column` standing for the indices.
struct Term {
  std::string expression = {};  // empty: none
  enum class By { all, row, column } by = By::all;
  bool none() const { return expression.empty(); }
};

struct WholeProduct {
  std::size_t a = 0, b = 0;  // inputs
  bool trans_a = false, trans_b = false;
  std::string a_codes = {};  // where A is, if it is not input `a` itself
  Element a_type = Element::uint8;
  Term a_zero = {}, b_zero = {}, bias = {}, factor = {}, addend = {};
  // If told, A is taken as m rows of k numbers, and B as a matrix that goes with it, whatever their shapes
  // are.
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t y_zero = 0;  // of codes
  std::int64_t largest_bias = 0;
};

// Output 0: int32 (the sums), float32 (scaled, with the addend) or codes of 8 or 16 bits.
void emit_whole_product(Node& node, const WholeProduct& product);

}  // namespace anybit::cgen
