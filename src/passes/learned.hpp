// Analyses of a model that passes share until one of them changes the model.
#pragma once

#include <optional>

#include "graph/constant.hpp"
#include "passes/facts.hpp"

namespace anybit::passes {

struct Learned {
  std::optional<Facts> facts;
  std::optional<graph::Constants> constants;
};

// Reuses the constants in `options.learned`, if present.
graph::Constants constants_of(const graph::Model& model, const PassOptions& options);

}  // namespace anybit::passes
