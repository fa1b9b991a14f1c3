/// @file
/// Atomic file writes, as used for models.
#pragma once

#include <string>
#include <string_view>

#include "anybit/export.hpp"
#include "anybit/result.hpp"

namespace anybit {

/// Writes a file atomically: readers see the old content or the new, never a part. The file is synced to disk
/// when the function returns. A replaced file keeps its permissions. A symbolic link is followed. The path
/// must not exist or must be a regular file. Errors are Code::io.
ANYBIT_API Result<void> write_file(const std::string& path, std::string_view bytes) noexcept;

}  // namespace anybit
