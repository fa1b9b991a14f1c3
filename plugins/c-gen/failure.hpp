// Branches that are invalid for the shapes of the generated code: a run that takes one fails.
#pragma once

#include <string>
#include <vector>

#include "anybit/codegen.hpp"

namespace anybit::cgen {

// The reason why a graph cannot run; empty if it can.
std::string failure(const anybit_graph& branch);
// The reasons of all branches of a graph. If there are any, the entries return a status.
std::vector<std::string> failures(const anybit_graph& graph);

}  // namespace anybit::cgen
