// Takes a model's quantization back, so that it can be quantized anew: pairs of QuantizeLinear and
// DequantizeLinear go, or become the Relu that they stand for; constants behind a DequantizeLinear become
// float32. Integer operators stay.
#pragma once

#include "anybit/result.hpp"
#include "graph/model.hpp"

namespace anybit::quantizing {

// Returns how many nodes went. `opset`: the model's, which the form of new nodes depends on; whoever only
// looks at the weights need not tell.
Result<std::int64_t> dequantize(graph::Graph& graph, std::int64_t opset = 13);

}  // namespace anybit::quantizing
