// Writes a quantized graph with ONNX's integer operators: what stands between DequantizeLinear and
// QuantizeLinear becomes QLinearConv or QLinearMatMul, and what only moves values works on the codes. The
// rest stays as it is.
#pragma once

#include "anybit/result.hpp"
#include "graph/model.hpp"

namespace anybit::lower {

// `graph` as to_qdq writes it, of a model of this opset, which tells what operators take codes. Returns how
// many nodes became integer operators.
std::int64_t to_qoperator(graph::Graph& graph, std::int64_t opset);

}  // namespace anybit::lower
