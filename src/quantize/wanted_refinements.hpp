// The refinements of the whole model that a recipe asks for, with the layers that they serve.
#pragma once

#include <cstddef>
#include <vector>

#include "quantize/annotation.hpp"
#include "refine/table.hpp"

namespace anybit::quantizing {

// A row with one choice of parameters.
struct WantedRefinement {
  const Descriptor* row;
  formats::Values parameters;
  bool optional;
  std::vector<int> layers;  // nodes of the main graph
};

// In the order of the table, without those that round single weights.
std::vector<WantedRefinement> wanted_refinements(const GraphNotes& notes, const graph::Graph& graph);

// How many samples it runs; 0 if none.
std::size_t samples_of(const WantedRefinement& wanted);

// How few bits a layer's inputs and weights will have.
LayerBits bits_of(const NodeNote& note);

}  // namespace anybit::quantizing
