// Weights that the model lists among its inputs, as defaults that callers may replace.
#pragma once

#include <string>

#include "graph/model.hpp"

namespace anybit::quantizing {

// Exporters once listed all weights as inputs (PyTorch: keep_initializers_as_inputs). A caller cannot
// replace a quantized weight by floats, so the weights of operators become constants. Returns a remark on
// them; empty if there are none.
std::string fix_default_weights(graph::Model& model);

}  // namespace anybit::quantizing
