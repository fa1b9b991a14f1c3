// Lists a folder. std::filesystem's iterators terminate the process when memory runs out: their advance() is
// noexcept.
#pragma once

#include <string>
#include <vector>

#include "anybit/result.hpp"

namespace anybit {

// Unsorted names, without "." and "..".
Result<std::vector<std::string>> names_in(const std::string& folder);

}  // namespace anybit
