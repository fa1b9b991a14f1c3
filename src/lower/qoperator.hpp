// Lowering to QOperator: rewrites DequantizeLinear, operator, QuantizeLinear to QLinearConv or QLinearMatMul;
// pass-through operators work on the quantized values. All other nodes are unchanged.
#pragma once

#include "anybit/result.hpp"
#include "graph/model.hpp"

namespace anybit::lower {

// `graph` is the output of to_qdq; `opset` determines which operators accept integers. Returns the number of
// nodes that became integer operators.
std::int64_t to_qoperator(graph::Graph& graph, std::int64_t opset);

}  // namespace anybit::lower
