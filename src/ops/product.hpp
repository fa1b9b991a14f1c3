// Matrix products as operators see them: batches of matrices under numpy's rules.
#pragma once

#include <vector>

#include "kernels/gemm.hpp"
#include "ops/frame.hpp"

namespace anybit::ops {

// One side of a product: matrices at strides (in elements) over a batch.
struct Operand {
  Dims batch, batch_strides;
  std::int64_t rows = 1, columns = 1, row_stride = 0, column_stride = 1;
  bool vector = false;  // of rank 1: its missing axis is missing from the result too

  // As FusedMatMul reads an input: the last two axes swapped; the first axis after the batch's.
  static Result<Operand> of(const Dims& dims, bool left, bool transposed = false, bool batch_inside = false);
};

struct Products {
  Dims out;                          // of the result
  std::int64_t m = 0, n = 0, k = 0;  // of each product
  std::int64_t count = 1;            // matrices of the result
  Dims batch, a_strides, b_strides;  // of the batch, in elements
  std::int64_t a_row = 0, a_column = 1, b_row = 0, b_column = 1;

  static Result<Products> of(const Operand& a, const Operand& b);
  // One product with more rows, where every matrix of A is multiplied by the same B.
  void fold();
  struct Offsets {
    std::int64_t a, b;
  };
  Offsets at(std::int64_t index) const;
  double macs() const { return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};

// Calls body(index) for every product: side by side if they are small, one after another if each of them can
// keep all threads busy.
void each_product(const Frame& frame, const Products& products, const FunctionRef<std::int64_t>& body);

// Types whose products are computed in float32: itself, and those of 16 bits.
bool computes_in_floats(ElementType type);

// Constant matrices of such a type as float32 in panels: one for each matrix of the batch, in its order.
struct PackedOperand : Prepared {
  std::vector<kernels::PackedFloats> matrices;
  std::int64_t matrix_elements = 0;  // between them in the constant
  std::int64_t bytes() const override { return bytes_of_all(matrices); }
  // Null if `b` is no constant of such a type.
  static std::shared_ptr<const PackedOperand> of(const Array* b, const Operand& operand);
};

// out = alpha·a·b + … of inputs 0 and 1, which are of such a type, rounded once. Input 1 may be prepared as a
// PackedOperand.
Result<void> multiply_floats(Frame& frame, const Products& products, Array& out,
                             const kernels::FloatEpilogue& epilogue);

// c = a·b in the elements' own type; integers wrap.
template <class T>
void multiply_plainly(const Frame& frame, const Products& p, const T* a, const T* b, T* c) {
  // Narrow types would be promoted to int, whose overflow is undefined.
  using Wide = std::conditional_t<(sizeof(T) > 4), std::uint64_t, std::uint32_t>;
  using Sum = std::conditional_t<std::is_integral_v<T>, Wide, T>;
  each_product(frame, p, [&](std::int64_t i) {
    const auto [a_offset, b_offset] = p.at(i);
    for (std::int64_t r = 0; r < p.m; ++r) {
      T* to = c + (i * p.m + r) * p.n;
      std::fill(to, to + p.n, T(0));
      for (std::int64_t j = 0; j < p.k; ++j) {
        const Sum x = static_cast<Sum>(a[a_offset + r * p.a_row + j * p.a_column]);
        const T* from = b + b_offset + j * p.b_row;
        for (std::int64_t col = 0; col < p.n; ++col) {
          to[col] = static_cast<T>(static_cast<Sum>(to[col]) + x * static_cast<Sum>(from[col * p.b_column]));
        }
      }
    }
  });
}

// The elements of a real tensor as float32: where they lie, or in scratch.
Result<const float*> as_floats(Frame& frame, const Array& array);
// The other way, rounding once.
void from_floats(const float* from, Array& to);

// An addend that is stretched over an m×n result: of rank 2 at most, each axis 1 or the result's.
struct Stretched {
  std::int64_t row_stride = 0, column_stride = 0;
  static Result<Stretched> over(const Dims& dims, std::int64_t m, std::int64_t n);
};

}  // namespace anybit::ops
