// Checks a model against ONNX's rules. A verified model can be walked, saved and planned without further
// checks.
#pragma once

#include "anybit/limits.hpp"
#include "anybit/result.hpp"
#include "graph/model.hpp"

namespace anybit::graph {

Result<void> verify(const Model& model, const Limits& limits = {});

}  // namespace anybit::graph
