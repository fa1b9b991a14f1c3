// AMD Quark's operators as QuantizeDequantize of ai.anybit, for generators that know neither.
#pragma once

#include "anybit/limits.hpp"
#include "anybit/result.hpp"
#include "graph/model.hpp"

namespace anybit::codegen {

// The model's shapes are fixed. Nodes of float16 values are left.
Result<void> replace_fix_neurons(graph::Model& model, const Limits& limits);

}  // namespace anybit::codegen
