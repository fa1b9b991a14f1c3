// What an operator does to each channel, y = x · factor + offset, put into the weights of the linear operator
// beside it. In double, rounded once.
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
  std::vector<double> factor, offset;  // by channel
};

// BatchNormalization with constant parameters, outside of training.
std::optional<Affine> normalization(const graph::Node& node, const graph::Constants& constants,
                                    const graph::Index& index, std::int64_t opset);

// The weights of a Conv, ConvTranspose, Gemm or MatMul: float32, constant.
struct Linear {
  enum class Kind { conv, conv_transpose, gemm, matmul } kind;
  std::vector<std::int64_t> dims;
  std::vector<float> weights;
  std::vector<double> bias;  // by output channel; zeros if there is none
  std::int64_t outputs = 0, inputs = 0, groups = 1;
  bool transposed = false;  // of a Gemm

  // y = affine(linear(x)), and y = linear(affine(x)); false if a number is not finite any more. The second is
  // exact only where nothing is padded.
  bool put_after(const Affine& affine);
  bool put_before(const Affine& affine);
};

// The node's constant weights are its own, or small enough to have them twice.
bool may_change(const graph::Node& node, const graph::Constants& constants, const graph::Index& index,
                const PassOptions& options);
// Nothing if the node is no such operator, or has no such weights.
std::optional<Linear> linear_of(const graph::Node& node, const graph::Constants& constants);
// Puts the weights and the bias into the node: new constants of the graph. A MatMul becomes a Gemm. False,
// and nothing is changed, if memory is limited and there is not enough.
bool set_weights(graph::Graph& graph, graph::Node& node, const Linear& linear, graph::Names& names,
                 const PassOptions& options);

}  // namespace anybit::passes
