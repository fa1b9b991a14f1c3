// The profile of a run as text.
#pragma once

#include <string>
#include <vector>

#include "anybit/executor.hpp"

namespace anybit::cli {

// Tables by operator and by node, slowest first. `runs`: profiles of the same model; the time of a node is
// its best.
std::string to_text(const std::vector<RunProfile>& runs);

}  // namespace anybit::cli
