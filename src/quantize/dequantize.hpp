// Removes the quantization of a model, so that it can be quantized again: Q/DQ pairs are removed, or replaced
// by the Relu that they imply; constants behind a DequantizeLinear become float32. Integer operators stay.
#pragma once

#include "anybit/result.hpp"
#include "graph/model.hpp"

namespace anybit::quantizing {

// Returns the number of removed nodes. `opset`: that of the model, which determines the form of new nodes;
// irrelevant for callers that only read weights.
Result<std::int64_t> dequantize(graph::Graph& graph, std::int64_t opset = 13);

}  // namespace anybit::quantizing
