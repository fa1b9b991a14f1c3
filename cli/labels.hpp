// The right classes of samples, from a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "anybit/result.hpp"

namespace anybit::cli {

// A .npy of whole numbers, or text with one on each line.
Result<std::vector<std::int64_t>> read_labels(const std::string& path);

}  // namespace anybit::cli
