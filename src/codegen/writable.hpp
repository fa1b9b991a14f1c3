// Checks who may change the libraries that this process loads.
#pragma once

#include <string>

#include "anybit/result.hpp"

namespace anybit::codegen {

// An error if everybody may write to the file (an absolute path) or replace it, by write permission on its
// folder or a parent folder. In a sticky folder (/tmp) a file is safe if it belongs to root or this user. The
// group is trusted.
Result<void> reject_world_writable(const std::string& file);

}  // namespace anybit::codegen
