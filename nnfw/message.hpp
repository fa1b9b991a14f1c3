// Messages of anybit, for callers of onert's API.
#pragma once

#include <string>

namespace anybit::nnfw {

// The message with onert's names of functions and types in place of anybit's.
std::string in_onerts_words(std::string message);

}  // namespace anybit::nnfw
