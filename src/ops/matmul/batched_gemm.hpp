// Batched matrix multiplication for operators: shapes, strides and broadcasting follow numpy.matmul.
#pragma once

#include <vector>

#include "kernels/gemm/gemm.hpp"
#include "ops/frame.hpp"

namespace anybit::ops {

// One operand of a matrix multiplication: matrices with strides (in elements) over a batch.
struct Operand {
  Dims batch, batch_strides;
  std::int64_t rows = 1, columns = 1, row_stride = 0, column_stride = 1;
  bool vector = false;  // of rank 1: the result lacks the corresponding axis too

  // `transposed` and `batch_inside` are the attributes transA/transB and transBatchA/transBatchB of
  // FusedMatMul: swap the last two axes; the rows are the first axis, before the batch.
  static Result<Operand> of(const Dims& dims, bool left, bool transposed = false, bool batch_inside = false);
};

struct BatchedMatMul {
  Dims out;                          // dims of the result
  std::int64_t m = 0, n = 0, k = 0;  // of each matrix multiplication
  std::int64_t count = 1;            // number of matrices in the result
  Dims batch, a_strides, b_strides;  // of the batch, in elements
  std::int64_t a_row = 0, a_column = 1, b_row = 0, b_column = 1;

  static Result<BatchedMatMul> of(const Operand& a, const Operand& b);
  // Merges the batch into the rows (one larger GEMM) if every matrix of A is multiplied by the same B.
  void fold();
  struct Offsets {
    std::int64_t a, b;
  };
  Offsets at(std::int64_t index) const;
  double macs() const { return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k); }
};

// Calls body(index) for every matrix of the batch: in parallel if they are small, sequentially if each one
// keeps all threads busy.
void each_matrix(const Frame& frame, const BatchedMatMul& matmul, const FunctionRef<std::int64_t>& body);

// Types that are multiplied in float32: float32 and the 16-bit floats.
bool computes_in_floats(ElementType type);

// Constant matrices of such a type, packed into panels of float32: one per matrix of the batch, in order.
struct PackedOperand : Prepared {
  std::vector<kernels::PackedFloats> matrices;
  std::int64_t matrix_elements = 0;  // elements per matrix in the constant
  std::int64_t bytes() const override { return bytes_of_all(matrices); }
  // Null if `b` is not a constant of such a type.
  static std::shared_ptr<const PackedOperand> of(const Array* b, const Operand& operand);
};

// out = epilogue(a·b) for inputs 0 and 1, which have such a type; rounded once. Input 1 may be prepared as a
// PackedOperand.
Result<void> multiply_floats(Frame& frame, const BatchedMatMul& matmul, Array& out,
                             const kernels::FloatEpilogue& epilogue);

// c = a·b in the element type itself (no kernel); integers wrap around.
template <class T>
void multiply_naive(const Frame& frame, const BatchedMatMul& p, const T* a, const T* b, T* c) {
  // Narrow types would be promoted to int, whose overflow is undefined.
  using Wide = std::conditional_t<(sizeof(T) > 4), std::uint64_t, std::uint32_t>;
  using Sum = std::conditional_t<std::is_integral_v<T>, Wide, T>;
  each_matrix(frame, p, [&](std::int64_t i) {
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

// The elements of a real tensor as float32: in place, or converted into scratch memory.
Result<const float*> as_floats(Frame& frame, const Array& array);
// Converts float32 back to the type of `to`, rounding once.
void from_floats(const float* from, Array& to);

// An addend broadcast to an m×n result: of rank 2 at most, each axis 1 or equal to the result's.
struct BroadcastAddend {
  std::int64_t row_stride = 0, column_stride = 0;
  static Result<BroadcastAddend> over(const Dims& dims, std::int64_t m, std::int64_t n);
};

}  // namespace anybit::ops
