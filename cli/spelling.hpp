// Suggests names for misspelled words.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace anybit::cli {

// "did you mean 'inspect'?", or empty if no name is similar.
std::string did_you_mean(std::string_view word, std::span<const std::string> names);

}  // namespace anybit::cli
