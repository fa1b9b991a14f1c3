// Branches that cannot run with the shapes that the code is made for: a run that chooses one ends there.
#pragma once

#include <string>
#include <vector>

#include "anybit/codegen.hpp"

namespace anybit::cgen {

// Why such a branch cannot run; empty for a graph that can.
std::string failure(const anybit_graph& branch);
// Those of all branches in a graph. Where there are some, the entries return whether the run failed.
std::vector<std::string> failures(const anybit_graph& graph);

}  // namespace anybit::cgen
