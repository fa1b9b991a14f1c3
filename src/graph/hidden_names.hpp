// Inputs and constants of graphs inside nodes that bear the name of a value around them.
#pragma once

#include "graph/model.hpp"

namespace anybit::graph {

// Gives them names of their own. ONNX forbids such names, exporters write them (Paddle's loops), and ONNX
// Runtime takes them: the inner value is meant. For models that are not verified yet; one without such names
// stays as it is.
void rename_hiding(Model& model);

}  // namespace anybit::graph
