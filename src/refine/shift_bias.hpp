// The biases of linear operators, in the node itself or, for a MatMul, in a following Add: finds, creates and
// changes them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/index.hpp"
#include "graph/model.hpp"

namespace anybit::quantizing {

// The number of output channels; 0 if the weights do not determine it.
std::int64_t channels_of(const graph::Node& node, const graph::Index& index);

// Depends on the operator only.
bool may_have_bias(const graph::Node& node);

// Returns the nodes that have a constant per-channel bias. Convolutions and Gemm without a bias get a zero
// bias.
std::vector<int> with_biases(graph::Graph& graph, std::vector<int> nodes);

// The nodes that with_biases() would return.
std::vector<int> that_can_have_biases(const graph::Graph& graph, std::vector<int> nodes);

// Adds shifts to the biases of nodes, except where a shift is empty. Returns the number of changed nodes,
// which excludes nodes without a bias and those whose bias would become infinite.
std::int64_t shift_biases(graph::Graph& graph, std::span<const int> nodes,
                          std::span<const std::vector<double>> shifts);

}  // namespace anybit::quantizing
