// Takes a model's quantization back, so that it can be quantized anew: pairs of QuantizeLinear and
// DequantizeLinear go, constants behind a DequantizeLinear become float32. Integer operators stay.
#pragma once

#include "anybit/result.hpp"
#include "graph/model.hpp"

namespace anybit::quantizing {

// Returns how many nodes went.
Result<std::int64_t> dequantize(graph::Graph& graph);

}  // namespace anybit::quantizing
