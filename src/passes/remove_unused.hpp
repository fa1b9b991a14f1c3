// The pass remove_unused as a function, for code that has just changed a model.
#pragma once

#include "graph/model.hpp"

namespace anybit::passes {

// Removes unused nodes and constants, and value_info of values that no longer exist. Returns the number of
// removed nodes and constants.
std::int64_t remove_unused(graph::Model& model);

}  // namespace anybit::passes
