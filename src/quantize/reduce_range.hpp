// `reduce_range: pairs`: int8 weights for which ONNX Runtime is exact on every x86-64 CPU.
//
// Without VNNI its kernels multiply uint8 activations by int8 weights with vpmaddubsw, which adds two
// neighboring products along the reduction axis in 16 bits with saturation. Activations are 0 … 255. Two
// weights of the same sign sum to at most 255 · |w0 + w1|, two of different signs to less than 255 · 128 =
// 32640. With |w0 + w1| <= 128 all sums lie in [-32640, 32640], and none saturates: int16 is [-32768, 32767].
// All further sums have 32 bits. docs/recipes.md#reduce-range.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/thread_pool.hpp"
#include "graph/model.hpp"

namespace anybit::quantizing {

// The order in which ONNX Runtime's kernels reduce a weight, which determines the neighbors. Output (b, c)
// begins at b · block + c. Its k-th value is at offset k % inner · inner_step + k / inner · outer_step.
struct ReductionOrder {
  std::int64_t blocks = 1, columns = 1, block = 0;
  std::int64_t inner = 1, inner_step = 1, outer = 1, outer_step = 1;

  std::int64_t outputs() const { return blocks * columns; }
  std::int64_t length() const { return inner * outer; }
  std::int64_t first(std::int64_t output) const { return output / columns * block + output % columns; }
  std::int64_t offset(std::int64_t k) const { return k % inner * inner_step + k / inner * outer_step; }
  friend bool operator==(const ReductionOrder&, const ReductionOrder&) = default;
};

// Returns the order for a constant weight at this input if saturating kernels may multiply it (from the
// source of ONNX Runtime 1.31): the right operand of a matrix multiplication, and the weights of Conv, LSTM
// and Attention; not a left operand, a depthwise convolution, or ConvInteger, which takes the weight as left
// operand (`dynamic`).
std::optional<ReductionOrder> reduction_order(const graph::Node& node, int input,
                                              std::span<const std::int64_t> dims, bool dynamic);

// For each output, the smallest scale at which both neighboring quantized values of any pair keep the bound:
// |x0 + x1| is at most 127 scales, and rounding moves each value by less than one step.
std::vector<double> least_scales(const float* values, const ReductionOrder& order, ThreadPool& pool);

// Counts pairs that may saturate: 0 if all keep the bound.
std::int64_t saturating_pairs(const std::int8_t* weights, const ReductionOrder& order, ThreadPool& pool);

}  // namespace anybit::quantizing
