// The C file with a library's entries.
#pragma once

#include <string>

#include "anybit/codegen.hpp"

namespace anybit::sogen {

// For a model whose C has `<name>_run` in `<name>.h`.
std::string entries_of(const anybit_graph& graph, const std::string& name);

}  // namespace anybit::sogen
