// Lowering to Q/DQ: inserts QuantizeLinear and DequantizeLinear pairs around unchanged operators. Stock
// runtimes recognize the pattern and run it in integers.
#pragma once

#include "anybit/limits.hpp"
#include "anybit/result.hpp"
#include "graph/names.hpp"
#include "lower/functions.hpp"
#include "lower/plan.hpp"

namespace anybit::lower {

// Names follow ONNX Runtime's quantization tools: X_QuantizeLinear_Output, X_DequantizeLinear_Output,
// X_scale, X_zero_point, X_quantized. Formats that ONNX lacks become calls of `functions`.
Result<void> to_qdq(graph::Graph& graph, const GraphPlan& plan, graph::Names& names, Functions& functions,
                    const Limits& limits);

}  // namespace anybit::lower
