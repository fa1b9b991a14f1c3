// The C file with the entries of the library.
#pragma once

#include <string>

#include "anybit/codegen.hpp"

namespace anybit::sogen {

// For a model whose C code has `<name>_run` in `<name>.h`.
std::string entries_of(const anybit_graph& graph, const std::string& name);

}  // namespace anybit::sogen
