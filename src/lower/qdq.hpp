// Lowering to Q/DQ: inserts QuantizeLinear and DequantizeLinear pairs around unchanged operators. Stock
// runtimes recognize the pattern and run it in integers.
#pragma once

#include "anybit/limits.hpp"
#include "anybit/result.hpp"
#include "graph/names.hpp"
#include "lower/functions.hpp"
#include "lower/plan.hpp"
#include "lower/training_form.hpp"

namespace anybit::lower {

// Names follow ONNX Runtime's quantization tools: X_QuantizeLinear_Output, X_DequantizeLinear_Output,
// X_scale, X_zero_point, X_quantized. Formats that ONNX lacks become calls of `functions`.
Result<void> to_qdq(graph::Graph& graph, const GraphPlan& plan, graph::Names& names, Functions& functions,
                    const Limits& limits);

// The same positions in the form that is trained. Biases stay in float32. Returns what can be learned of the
// parameters in the main graph.
Result<std::vector<LearnedStep>> to_training(graph::Graph& graph, const GraphPlan& plan, graph::Names& names,
                                             Functions& functions);

}  // namespace anybit::lower
