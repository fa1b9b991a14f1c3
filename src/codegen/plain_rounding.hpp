// Expresses rounding to anybit's number formats in ONNX operators, for generators without QuantizeDequantize.
#pragma once

#include "anybit/result.hpp"
#include "graph/model.hpp"

namespace anybit::codegen {

// Every QuantizeDequantize of ai.anybit, whether a call of a function or a node, becomes a call of an
// ordinary function, which passes inline. A node that ONNX operators cannot express stays.
void inline_rounding(graph::Model& model);

}  // namespace anybit::codegen
