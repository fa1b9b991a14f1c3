// LookUpNeurons (docs/logic.md) as a function of ONNX operators: Gather of the inputs, their place values,
// a sum, and Gather in the tables.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "formats/neuron_table.hpp"
#include "graph/model.hpp"

namespace anybit::portable {

// "fan_in=6 input_bits=1 output_bits=1 signed=0": the function's doc string.
std::string to_string(const formats::NeuronTable& table);
std::optional<formats::NeuronTable> read_neuron_table(std::string_view text);

// Inputs: x, connections, tables, as of the operator.
graph::Function look_up_neurons(const formats::NeuronTable& table);

// The attributes of the operator, and back: `connections`, the node's input 1, has the fan-in.
void set_neuron_attributes(graph::Node& node, const formats::NeuronTable& table);
std::optional<formats::NeuronTable> neuron_table_of(const graph::Node& node, const graph::Graph& graph);

}  // namespace anybit::portable
