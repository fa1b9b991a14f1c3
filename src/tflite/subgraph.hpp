// Reads a subgraph of a TFLite file: its inputs, its operators, its outputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "anybit/result.hpp"
#include "graph/model.hpp"
#include "graph/names.hpp"
#include "tflite/file.hpp"
#include "tflite/graph_reader.hpp"

namespace anybit::tflite {

// The main graph, with inputs of its own.
Result<graph::Graph> read_subgraph(File& file, graph::Names& names, std::int64_t index);

// A subgraph as a part of a node: its inputs are these values of the graph around it. `outputs`: their names
// and types.
Result<graph::Graph> read_branch(File& file, graph::Names& names, std::int64_t index,
                                 const std::vector<std::string>& inputs, std::int64_t depth);

// Adds the nodes of the operators to an open reader.
Result<void> read_operators(GraphReader& reader);

}  // namespace anybit::tflite
