// The program's own definitions, read back: what its man page and its completion are made of.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace anybit::cli {

struct OptionText {
  std::vector<std::string> names;  // "-o", "--output"; a positional has one without dashes
  std::string value;               // what stands for its value; empty: a flag
  std::string about;
  std::vector<std::string> choices;  // values that are known; may be empty
  bool positional = false;
};

struct CommandText {
  std::string name, about;
  std::vector<OptionText> options;  // positional ones first; none that is hidden
};

// The program's own options, under an empty name, then its commands.
std::vector<CommandText> definitions(const CLI::App& app);

}  // namespace anybit::cli
