// `reduce_range: pairs`: int8 weights that ONNX Runtime multiplies exactly on every x86-64 CPU.
//
// Without VNNI its kernels multiply uint8 data by int8 weights with vpmaddubsw, which adds the products of
// two neighbours along the reduction axis in 16 bits, and saturates. Data are codes from 0 to 255. Two
// weights of one sign add up to at most 255 · |w0 + w1|, two of different signs to less than 255 · 128 =
// 32640. So with |w0 + w1| <= 128 no sum leaves [-32640, 32640], and none saturates: int16 ends at -32768 and
// 32767. All later sums have 32 bits. docs/recipes.md#reduce-range.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/thread_pool.hpp"
#include "graph/model.hpp"

namespace anybit::quantizing {

// The order in which ONNX Runtime's kernels reduce a weight: which values are neighbours. Output (b, c)
// begins at b · block + c. Its value k lies k % inner · inner_step + k / inner · outer_step behind that.
struct ReductionOrder {
  std::int64_t blocks = 1, columns = 1, block = 0;
  std::int64_t inner = 1, inner_step = 1, outer = 1, outer_step = 1;

  std::int64_t outputs() const { return blocks * columns; }
  std::int64_t length() const { return inner * outer; }
  std::int64_t first(std::int64_t output) const { return output / columns * block + output % columns; }
  std::int64_t offset(std::int64_t k) const { return k % inner * inner_step + k / inner * outer_step; }
  friend bool operator==(const ReductionOrder&, const ReductionOrder&) = default;
};

// Of the constant weight at this input, if kernels that saturate may multiply it (src of ONNX Runtime 1.31):
// the right operand of matrix products, and what Conv, LSTM and Attention make of theirs; but neither the
// left operand, nor a depthwise convolution, nor ConvInteger, whose left operand the weight is (`dynamic`).
std::optional<ReductionOrder> reduction_order(const graph::Node& node, int input,
                                              std::span<const std::int64_t> dims, bool dynamic);

// For each output, the smallest scale with which both codes next to every value keep to the bound: |x0 + x1|
// is at most 127 scales, and each code less than one away from x / scale.
std::vector<double> least_scales(const float* values, const ReductionOrder& order, ThreadPool& pool);

// Pairs that may saturate: 0 if the codes keep to the bound.
std::int64_t saturating_pairs(const std::int8_t* codes, const ReductionOrder& order, ThreadPool& pool);

}  // namespace anybit::quantizing
