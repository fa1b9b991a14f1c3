#include "shell_words.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <string_view>

namespace anybit::cli {

std::string quoted(const std::string& word) {
  const bool plain = !word.empty() && std::ranges::all_of(word, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("_-./=,:@%+").find(static_cast<char>(c)) != std::string_view::npos;
  });
  if (plain) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

std::string data_words(const SampleArguments& data) {
  std::string text;
  for (std::size_t i = 0; i < data.paths.size(); ++i)
    text += (i == 0 ? " --calib " : " ") + quoted(data.paths[i]);
  const SampleOptions& options = data.options;
  if (options.limit > 0) text += fmt::format(" --samples {}", options.limit);
  if (!options.mean.empty()) text += fmt::format(" --mean {}", fmt::join(options.mean, ","));
  if (!options.std.empty()) text += fmt::format(" --std {}", fmt::join(options.std, ","));
  if (!options.size.empty()) text += fmt::format(" --size {}", fmt::join(options.size, "x"));
  if (!options.resize.empty()) text += " --resize " + quoted(options.resize);
  if (!options.channels.empty()) text += " --channels " + quoted(options.channels);
  if (options.scale != 0) text += fmt::format(" --scale {:g}", options.scale);
  if (!options.layout.empty()) text += " --layout " + quoted(options.layout);
  return text;
}

}  // namespace anybit::cli
