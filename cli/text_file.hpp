// Text files that commands write beside their main output.
#pragma once

#include <string>

#include "anybit/result.hpp"

namespace anybit::cli {

// The file appears whole or not at all.
Result<void> write_text(const std::string& path, const std::string& text);

}  // namespace anybit::cli
