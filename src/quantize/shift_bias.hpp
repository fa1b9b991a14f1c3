// The biases of products, in the node itself or, of a MatMul, in an Add behind it: found, made, and added to.
#pragma once

#include <span>
#include <vector>

#include "graph/model.hpp"

namespace anybit::quantizing {

// By its operator.
bool may_have_bias(const graph::Node& node);

// Those of the nodes that have a constant bias, one number for each channel. Convolutions and Gemm that had
// none get one of zeros.
std::vector<int> with_biases(graph::Graph& graph, std::vector<int> nodes);

// Adds to the biases of nodes, where a shift is not empty. How many were: not those of nodes that have none,
// nor those that would not be finite any more.
std::int64_t shift_biases(graph::Graph& graph, std::span<const int> nodes,
                          std::span<const std::vector<double>> shifts);

}  // namespace anybit::quantizing
