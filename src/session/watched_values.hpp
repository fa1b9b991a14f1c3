// The values of a model whose ranges may be asked for.
#pragma once

#include <vector>

#include "calibrate/gather.hpp"

namespace anybit {

// Inputs and results of nodes, in all graphs; those that are known to be no real numbers are left out.
Result<std::vector<calibrate::Watched>> watched_values(const graph::Model& model, bool bins,
                                                       const Limits& limits);

}  // namespace anybit
