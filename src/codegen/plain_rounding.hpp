// Rounding to our number formats, for those who do not know them.
#pragma once

#include "anybit/result.hpp"
#include "graph/model.hpp"

namespace anybit::codegen {

// Every QuantizeDequantize of ai.anybit, a call of a function or a node by itself, becomes a call of a
// function that passes take for one like any other, and put in place. One that cannot be said in ONNX's
// operators stays.
void make_rounding_plain(graph::Model& model);

}  // namespace anybit::codegen
