// The values of a model whose ranges can be gathered.
#pragma once

#include <vector>

#include "calibrate/gather.hpp"

namespace anybit {

// Inputs and node outputs, in all graphs, without those that are known not to be float.
Result<std::vector<calibrate::Watched>> watched_values(const graph::Model& model, bool bins,
                                                       const Limits& limits);

}  // namespace anybit
