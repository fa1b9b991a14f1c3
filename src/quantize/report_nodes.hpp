// The outcome of every node, for the report.
#pragma once

#include "anybit/quantize.hpp"
#include "quantize/annotation.hpp"

namespace anybit::quantizing {

// Adds the nodes of a graph and of the graphs inside its nodes.
void report_nodes(const GraphNotes& notes, const graph::Graph& graph, QuantizationReport& report);

}  // namespace anybit::quantizing
