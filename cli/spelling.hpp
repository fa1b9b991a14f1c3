// Names that a user may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace anybit::cli {

// "did you mean 'inspect'?", or empty if nothing is near.
std::string did_you_mean(std::string_view word, std::span<const std::string> names);

}  // namespace anybit::cli
