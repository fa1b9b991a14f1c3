// A form of the bias behind a product that ONNX Runtime leaves alone.
#pragma once

#include "anybit/limits.hpp"
#include "anybit/result.hpp"
#include "graph/model.hpp"

namespace anybit::lower {

// ONNX Runtime (1.31) makes a Gemm of a MatMul of more than two axes and of the row that is added to it, and
// puts a QuantizeLinear between. If the codes are int8, that node is wrong by the rules of opset 21, and the
// model does not load. A row of three axes adds the same, and is none that Gemm takes. Returns how many
// rows got them.
Result<std::int64_t> keep_rows_from_gemm(graph::Model& model, const Limits& limits);

}  // namespace anybit::lower
