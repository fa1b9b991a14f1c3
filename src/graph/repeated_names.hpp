// Nodes of one graph with the same name.
#pragma once

#include "graph/model.hpp"

namespace anybit::graph {

// Numbers the later ones (`Mul`, `Mul_2`), in every graph and function. ONNX forbids repeated names, but
// exporters write them (spox), and ONNX Runtime accepts them. For models that are not verified yet; a model
// without them is not changed.
void number_repeated_names(Model& model);

}  // namespace anybit::graph
