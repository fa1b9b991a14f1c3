// The commands and options of the program, for the manual page and shell completion.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace anybit::cli {

struct OptionText {
  std::vector<std::string> names;  // "-o", "--output"; a positional has one without dashes
  std::string value;               // the placeholder of its value; empty: a flag
  std::string about;
  std::vector<std::string> choices;  // known values; may be empty
  bool positional = false;
};

struct CommandText {
  std::string name, about;
  std::vector<OptionText> options;  // positional ones first; hidden ones are left out
};

// The global options, under an empty name, then the commands.
std::vector<CommandText> definitions(const CLI::App& app);

}  // namespace anybit::cli
