// One command of the program. `NAME_command.cpp` defines `Command NAME_command()`; CMake generates
// the list of commands.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "anybit/result.hpp"

namespace anybit::cli {

struct Command {
  std::string summary;  // one line, for the list of commands
  // Adds the command's options and returns the function that runs it, which owns the options.
  std::function<std::function<Result<void>()>(CLI::App& app)> set_up;
  bool tells_all = false;                  // it reads the options of all other commands
  std::vector<std::string> one_dash = {};  // long options that may also be written with one dash
};

struct NamedCommand {
  std::string name;
  Command command;
};

// Sorted by name.
std::vector<NamedCommand> commands();

}  // namespace anybit::cli
