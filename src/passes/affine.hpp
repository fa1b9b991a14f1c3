// Folds a per-channel affine operator, y = x · factor + offset, into the weights of an adjacent linear
// operator. In double, rounded once.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/constant.hpp"
#include "graph/index.hpp"
#include "graph/names.hpp"
#include "graph/node.hpp"
#include "passes/table.hpp"

namespace anybit::passes {

struct Affine {
  std::vector<double> factor, offset;  // per channel
};

// The affine form of a BatchNormalization with constant parameters in inference mode.
std::optional<Affine> normalization(const graph::Node& node, const graph::Constants& constants,
                                    const graph::Index& index, std::int64_t opset);

// The constant float32 weights of a Conv, ConvTranspose, Gemm or MatMul.
struct Linear {
  enum class Kind { conv, conv_transpose, gemm, matmul } kind;
  std::vector<std::int64_t> dims;
  std::vector<float> weights;
  std::vector<double> bias;  // per output channel; zeros if there is none
  std::int64_t outputs = 0, inputs = 0, groups = 1;
  bool transposed = false;  // transB of a Gemm

  // y = affine(linear(x)), and y = linear(affine(x)); false if a result is NaN or infinity. The second one is
  // exact only without padding.
  bool put_after(const Affine& affine);
  bool put_before(const Affine& affine);
  // Calls see(index, output channel, input channel) for each weight, in order.
  template <class See>
  void each_weight(const See& see) const;
};

template <class See>
void Linear::each_weight(const See& see) const {
  const auto size = [&](std::size_t axis) { return static_cast<std::size_t>(dims[axis]); };
  const bool convolves = kind == Kind::conv || kind == Kind::conv_transpose;
  // [outputs, inputs per group, …] or, transposed, [inputs, outputs per group, …].
  const bool outputs_first = kind == Kind::conv || transposed;
  std::size_t window = 1;
  for (std::size_t axis = 2; axis < dims.size(); ++axis) window *= size(axis);
  const std::size_t rows_of_group = convolves ? size(0) / static_cast<std::size_t>(groups) : size(0);
  for (std::size_t row = 0, i = 0; row < size(0); ++row) {
    for (std::size_t column = 0; column < size(1); ++column) {
      const std::size_t other = row / rows_of_group * size(1) + column;
      const std::size_t output = outputs_first ? row : other, input = outputs_first ? other : row;
      for (std::size_t k = 0; k < window; ++k, ++i) see(i, output, input);
    }
  }
}

// Whether the weights may change: only this node uses them, or they are small enough to duplicate.
bool may_change(const graph::Node& node, const graph::Constants& constants, const graph::Index& index,
                const PassOptions& options);
// nullopt if the node is not such an operator, or has no such weights.
std::optional<Linear> linear_of(const graph::Node& node, const graph::Constants& constants);
// Stores weights and bias as new initializers of the node. A MatMul becomes a Gemm. Returns false and changes
// nothing if the memory limit would be exceeded.
bool set_weights(graph::Graph& graph, graph::Node& node, const Linear& linear, graph::Names& names,
                 const PassOptions& options);

}  // namespace anybit::passes
