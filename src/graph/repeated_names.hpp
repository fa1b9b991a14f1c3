// Nodes of one graph that share a name.
#pragma once

#include "graph/model.hpp"

namespace anybit::graph {

// Numbers the later ones (`Mul`, `Mul_2`), in every graph and function. ONNX forbids such names, exporters
// write them (spox), and ONNX Runtime takes them. For models that are not verified yet; one without stays as
// it is.
void number_repeated_names(Model& model);

}  // namespace anybit::graph
