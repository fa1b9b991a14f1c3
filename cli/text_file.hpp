// Checks of the files that commands write beside their main output.
#pragma once

#include <string>
#include <vector>

#include "anybit/result.hpp"

namespace anybit::cli {

// An error if no file can be written there: asked before work that would be lost. No path is fine.
Result<void> check_writable(const std::string& path);
// An error if what `flag` names is one of the files that the command reads, or writes otherwise. Samples may
// be NAME=PATH.
Result<void> check_replaces(const std::string& flag, const std::string& path,
                            const std::vector<std::string>& others);

}  // namespace anybit::cli
