// Where the time of a run went.
#pragma once

#include <string>
#include <vector>

#include "anybit/executor.hpp"

namespace anybit::cli {

// Tables by operator and by node, the slowest first. `runs`: profiles of the same model; times are the best
// of each node.
std::string to_text(const std::vector<RunProfile>& runs);

}  // namespace anybit::cli
