// What lies in a folder. std::filesystem's iterators end the process when memory runs out: their advance() is
// noexcept.
#pragma once

#include <string>
#include <vector>

#include "anybit/result.hpp"

namespace anybit {

// Names, in no order; without "." and "..".
Result<std::vector<std::string>> names_in(const std::string& folder);

}  // namespace anybit
