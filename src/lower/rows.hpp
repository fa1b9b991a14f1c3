// Keeps ONNX Runtime from fusing MatMul and Add into an invalid Gemm.
#pragma once

#include "anybit/limits.hpp"
#include "anybit/result.hpp"
#include "graph/model.hpp"

namespace anybit::lower {

// ONNX Runtime (1.31) fuses a MatMul with more than two axes and the Add of a one-dimensional bias into a
// Gemm, with a QuantizeLinear in between. If the quantized values are int8, the result violates the rules of
// opset 21, and the model does not load. A bias with three axes gives the same sum and is not fused. Returns
// the number of biases that were reshaped.
Result<std::int64_t> prevent_gemm_fusion(graph::Model& model, const Limits& limits);

}  // namespace anybit::lower
