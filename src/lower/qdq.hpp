// Writes a quantized graph with ONNX's own QuantizeLinear and DequantizeLinear: the operators stay as they
// were, on values that have been through their codes. Stock runtimes know the pattern and run it in integers.
#pragma once

#include "anybit/limits.hpp"
#include "anybit/result.hpp"
#include "graph/names.hpp"
#include "lower/functions.hpp"
#include "lower/plan.hpp"

namespace anybit::lower {

// Names follow the habit of ONNX Runtime's tools: X_QuantizeLinear_Output, X_DequantizeLinear_Output,
// X_scale, X_zero_point, X_quantized. Tensors in other formats go through calls of `functions`.
Result<void> to_qdq(graph::Graph& graph, const GraphPlan& plan, graph::Names& names, Functions& functions,
                    const Limits& limits);

}  // namespace anybit::lower
