// What quantization reads and sets of a model as a whole: its size, its IR version, the domains that it
// imports.
#pragma once

#include <cstdint>

#include "graph/model.hpp"

namespace anybit::quantizing {

// Removes initializers from the inputs: before IR 4 each also had to be an input, though not meant to be
// overridden.
void modernize(graph::Model& model);
// The bytes of all constants.
std::int64_t constant_bytes(const graph::Graph& graph);
// Imports the domain of ONNX Runtime if a node is one of its contrib operators: layers with 8-bit weights
// are.
void import_domains(graph::Model& model);

}  // namespace anybit::quantizing
