// Saving a file of any kind, as models are saved.
#pragma once

#include <string>
#include <string_view>

#include "anybit/export.hpp"
#include "anybit/result.hpp"

namespace anybit {

// The file appears whole or not at all, and is on the disk when this returns. One that is replaced keeps its
// permissions. Where a symbolic link leads is written to; what is no regular file is refused.
ANYBIT_API Result<void> write_file(const std::string& path, std::string_view bytes) noexcept;

}  // namespace anybit
