// Checks for the files that commands write.
#pragma once

#include <string>
#include <vector>

#include "anybit/result.hpp"

namespace anybit::cli {

// An error if no file can be written there; called before the work whose result it holds. An empty path is
// valid.
Result<void> check_writable(const std::string& path);
// An error if `path`, the value of `flag`, is one of the other files that the command reads or writes.
// Samples may be NAME=PATH.
Result<void> check_replaces(const std::string& flag, const std::string& path,
                            const std::vector<std::string>& others);

}  // namespace anybit::cli
