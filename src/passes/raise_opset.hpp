// Converts a model to a newer opset: its graph, subgraphs, functions and training graphs together. The rules
// are in the operators' files.
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
  std::int64_t changed = 0;  // nodes that needed more than a new version number
};

// `model` must be verified. The result shares its tensor data.
Result<Raised> raise_opset(const graph::Model& model, std::optional<std::int64_t> target = {},
                           const Limits& limits = {});

}  // namespace anybit::passes
