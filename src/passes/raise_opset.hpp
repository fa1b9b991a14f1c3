// Raises a model to a newer opset: its graph, the graphs inside nodes, its functions and training graphs
// together. The rules are in the operators' files.
#pragma once

#include <optional>

#include "anybit/limits.hpp"
#include "graph/model.hpp"

namespace anybit::passes {

// The newest opset that the table of operators knows.
std::int64_t newest_opset();

struct Raised {
  graph::Model model;
  std::int64_t from = 0, to = 0;
  std::int64_t changed = 0;  // nodes that took more than a new number
};

// `model` is verified. Tensor data is shared with it.
Result<Raised> raise_opset(const graph::Model& model, std::optional<std::int64_t> target = {},
                           const Limits& limits = {});

}  // namespace anybit::passes
