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

// Adds to the bias of a node; false if it has none, or would not be finite any more.
bool shift_bias(graph::Graph& graph, int node, std::span<const double> shift);

}  // namespace anybit::quantizing
