// Integer GEMM for operators (MatMulInteger, QLinearMatMul, …): zero points and scales per tensor, per row of
// A, or per column of B.
#pragma once

#include <optional>
#include <vector>

#include "ops/matmul/batched_gemm.hpp"
#include "ops/quantized/quantization.hpp"

namespace anybit::ops {

// Zero points or scales of one input, per tensor or along one axis.
template <class T>
struct Along {
  const T* data = nullptr;
  std::int64_t stride = 0;  // 0: per tensor
  std::int64_t matrix = 0;  // stride between matrices of the batch
};

// Null data if the input is omitted. `each`: rows or columns of each matrix.
Result<Along<std::int32_t>> zeros_of(Frame& frame, std::size_t input, std::int64_t each,
                                     std::int64_t matrices);
Result<Along<float>> scales_of(Frame& frame, std::size_t input, std::int64_t each, std::int64_t matrices);

// Constant integer matrices, packed into panels.
struct PackedIntegerOperand : Prepared {
  std::vector<kernels::PackedIntegers> matrices;
  std::int64_t matrix_elements = 0;
  std::int64_t bytes() const override { return bytes_of_all(matrices); }
};
// The operator has no such input.
inline constexpr std::size_t kNoInput = static_cast<std::size_t>(-1);
// Input indices of a node.
struct IntegerInputs {
  std::size_t a, a_zero, b, b_zero;
};
// Packs B; null unless B and its zero points are constant.
Result<std::shared_ptr<const Prepared>> prepare_integer(const Setup& setup, const IntegerInputs& inputs);

// The matrix multiplications of a node, and its zero points.
struct IntegerTerms {
  IntegerInputs inputs;
  BatchedMatMul matmul;
  Along<std::int32_t> a_zero, b_zero;
  static Result<IntegerTerms> of(Frame& frame, const IntegerInputs& inputs);
};

// Output scales: scale of a × scale of b / `divisor`, in double, rounded once.
struct IntegerScales {
  kernels::Spread<float> spread;
  std::int64_t matrix = 0;
};
Result<IntegerScales> scales_of(Frame& frame, const IntegerTerms& terms, const Along<float>& a,
                                const Along<float>& b, double divisor);

// Runs the GEMMs into `out`. `a`, if given, replaces the data of input A (uint8).
void multiply_integers(const Frame& frame, const IntegerTerms& terms,
                       const kernels::IntegerEpilogue& epilogue, const IntegerScales& scales, Array& out,
                       const std::uint8_t* a = nullptr);

// 8- and 16-bit integer types as the kernels name them.
std::optional<kernels::IntegerType> integer_type_of(ElementType type);
std::optional<kernels::IntegerResult> result_of(ElementType type);

}  // namespace anybit::ops
