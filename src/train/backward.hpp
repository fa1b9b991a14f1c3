// The backward graph: gradients of a loss as nodes of the same graph, from the operators' gradient rules.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "anybit/result.hpp"
#include "graph/model.hpp"

namespace anybit::train {

struct BackwardOptions {
  // Forward values are computed again in the backward pass instead of being kept, between values that cut the
  // graph; less memory, at most one more forward pass.
  bool recompute = false;
};

// Adds to the main graph the nodes that compute the gradient of `loss`, a scalar float32 value of that graph,
// with regard to each of `wanted`: initializers, inputs, or values of nodes. The model is prepared (functions
// are inlined, names are unique) and raised to an opset that the rules know. Returns the names of the
// gradients, each of the shape of its value, in order; a value that the loss does not depend on has a
// gradient of zeros. An error names a node on the way that has no rule.
Result<std::vector<std::string>> add_gradients(graph::Model& model, std::string_view loss,
                                               std::span<const std::string> wanted,
                                               const BackwardOptions& options = {});

}  // namespace anybit::train
