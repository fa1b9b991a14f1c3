// The outcomes of an annotation, for the report and for messages.
#pragma once

#include <string>

#include "anybit/quantize.hpp"
#include "quantize/annotation.hpp"

namespace anybit::quantizing {

// Returns true if something is quantized.
bool anything(const GraphNotes& notes);

// The reasons why the first few nodes are left in float, for a message.
std::string reasons(const GraphNotes& notes);

// Adds the outcome of each node, including subgraphs.
void report_nodes(const GraphNotes& notes, const graph::Graph& graph, QuantizationReport& report);

}  // namespace anybit::quantizing
