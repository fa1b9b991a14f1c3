// "Did you mean …": the names closest to a misspelt one.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace anybit {

// Up to three names within an edit distance of a third of the length, nearest first; if there are none, names
// with a common prefix.
std::vector<std::string> nearest(std::string_view given, std::span<const std::string_view> names);
// "did you mean 'a' or 'b'?", or empty if nothing is near.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> names);

}  // namespace anybit
