// Writes a quantized graph with ONNX's integer operators: what stands between DequantizeLinear and
// QuantizeLinear becomes QLinearConv or QLinearMatMul, and what only moves values works on the codes. The
// rest stays as it is.
#pragma once

#include "anybit/result.hpp"
#include "graph/model.hpp"

namespace anybit::lower {

// `graph` as to_qdq writes it. Returns how many nodes became integer operators. MaxPool, ReduceMax and
// ReduceMin take codes since opset 12: they do where the graph shows that the model is as new, and floats
// elsewhere.
std::int64_t to_qoperator(graph::Graph& graph);

}  // namespace anybit::lower
