// Products of quantized matrices as operators see them: zero points and scales for the whole tensor, by row
// of A, or by column of B.
#pragma once

#include <optional>
#include <vector>

#include "ops/product.hpp"
#include "ops/quantization.hpp"

namespace anybit::ops {

// Zero points or scales of one input.
template <class T>
struct Along {
  const T* data = nullptr;
  std::int64_t stride = 0;  // 0: one for all
  std::int64_t matrix = 0;  // from one matrix of the batch to the next
};

// Null data if the input is left out. Of `each` rows or columns, of each matrix.
Result<Along<std::int32_t>> zeros_of(Frame& frame, std::size_t input, std::int64_t each,
                                     std::int64_t matrices);
Result<Along<float>> scales_of(Frame& frame, std::size_t input, std::int64_t each, std::int64_t matrices);

// A constant matrix of bytes, or several, in panels.
struct PackedWholeOperand : Prepared {
  std::vector<kernels::PackedWholes> matrices;
  std::int64_t matrix_elements = 0;
  std::int64_t bytes() const override { return bytes_of_all(matrices); }
};
// No such input.
inline constexpr std::size_t kNoInput = static_cast<std::size_t>(-1);
// Which inputs of a node are what.
struct WholeInputs {
  std::size_t a, a_zero, b, b_zero;
};
// Null if B and its zero points are no constants.
Result<std::shared_ptr<const Prepared>> prepare_whole(const Setup& setup, const WholeInputs& inputs);

// The products of a node, and its zero points.
struct WholeTerms {
  WholeInputs inputs;
  Products products;
  Along<std::int32_t> a_zero, b_zero;
  static Result<WholeTerms> of(Frame& frame, const WholeInputs& inputs);
};

// Scales of the elements of C: a's times b's, divided by `divisor`, in double, rounded once.
struct WholeScales {
  kernels::Spread<float> spread;
  std::int64_t matrix = 0;
};
Result<WholeScales> scales_of(Frame& frame, const WholeTerms& terms, const Along<float>& a,
                              const Along<float>& b, double divisor);

// `a` if given is in the place of the node's input.
void multiply_wholes(const Frame& frame, const WholeTerms& terms, const kernels::WholeEpilogue& epilogue,
                     const WholeScales& scales, Array& out, const std::uint8_t* a = nullptr);

// Types of 8 and 16 bits as kernels call them.
std::optional<kernels::Whole> whole_of(ElementType type);
std::optional<kernels::WholeResult> result_of(ElementType type);

}  // namespace anybit::ops
