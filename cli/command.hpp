// One command of the program. `NAME_command.cpp` defines `Command NAME_command()`; CMake makes the list of
// them.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "anybit/result.hpp"

namespace anybit::cli {

struct Command {
  std::string summary;  // one line, for the list of commands
  // Adds the command's options and returns what runs it; the options live inside the returned function.
  std::function<std::function<Result<void>()>(CLI::App& app)> set_up;
  bool tells_all = false;  // it looks at the options of the other commands
};

struct NamedCommand {
  std::string name;
  Command command;
};

// In the order of their names.
std::vector<NamedCommand> commands();

}  // namespace anybit::cli
