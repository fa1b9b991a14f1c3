// A layer whose weights a refinement changes in place, under their own names: rules of recipes refer to them.
#pragma once

#include <optional>
#include <vector>

#include "graph/index.hpp"
#include "graph/model.hpp"
#include "passes/affine.hpp"

namespace anybit::quantizing {

struct ScaledLayer {
  int node;
  passes::Linear linear;
  bool has_bias;  // as an input of its own

  // The largest magnitude of the weights of each output or input channel.
  std::vector<double> output_ranges() const;
  std::vector<double> input_ranges() const;
};

// std::nullopt unless weights and bias are initializers that nothing else uses.
std::optional<ScaledLayer> scaled_layer(const graph::Graph& graph, const graph::Index& index,
                                        const graph::Constants& constants, int node);
// Replaces the values of its initializers.
void store(graph::Graph& graph, const ScaledLayer& layer);

}  // namespace anybit::quantizing
