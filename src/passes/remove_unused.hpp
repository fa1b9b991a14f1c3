// The pass by itself, for those who have just changed a model.
#pragma once

#include "graph/model.hpp"

namespace anybit::passes {

// Takes out nodes and constants that nobody uses, and notes about values that are not there. Returns how many
// nodes and constants went.
std::int64_t remove_unused(graph::Model& model);

}  // namespace anybit::passes
