// An inspection as text and as JSON.
#pragma once

#include <string>

#include "anybit/inspect.hpp"

namespace anybit::cli {

// Sections with tables; empty ones are left out. `nodes`: also a table of every node.
std::string to_text(const Inspection& inspection, bool nodes);
// Everything, as JSON.
std::string to_json(const Inspection& inspection);

}  // namespace anybit::cli
