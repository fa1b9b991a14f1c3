// What passes learn of a model before they change it. As long as none does, the next need not learn it again.
#pragma once

#include <optional>

#include "graph/constant.hpp"
#include "passes/facts.hpp"

namespace anybit::passes {

struct Learned {
  std::optional<Facts> facts;
  std::optional<graph::Constants> constants;
};

// Those that are learned already, if there are any.
graph::Constants constants_of(const graph::Model& model, const PassOptions& options);

}  // namespace anybit::passes
