// Inputs and constants of inner graphs that shadow a value of an enclosing graph.
#pragma once

#include "graph/model.hpp"

namespace anybit::graph {

// Renames them. ONNX forbids shadowing, but exporters write it (Paddle's loops), and ONNX Runtime accepts it:
// the name refers to the inner value. For models that are not verified yet; a model without such names is not
// changed.
void rename_shadowing(Model& model);

}  // namespace anybit::graph
