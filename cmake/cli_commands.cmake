# The list of the program's commands: one for each file of cli/commands. Sets cli_commands to what must be compiled.
file(GLOB cli_commands CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cli/commands/*.cpp)
list(SORT cli_commands)
set(declarations "")
set(rows "")
foreach(source IN LISTS cli_commands)
  get_filename_component(name ${source} NAME_WE)
  string(APPEND declarations "Command ${name}_command();\n")
  string(APPEND rows "      {\"${name}\", ${name}_command()},\n")
endforeach()
set(list ${PROJECT_BINARY_DIR}/generated/cli_commands.cpp)
file(CONFIGURE OUTPUT ${list} CONTENT "// Made by cmake/cli_commands.cmake from the files of cli/commands.
#include \"command.hpp\"

namespace anybit::cli {
${declarations}
std::vector<NamedCommand> commands() {
  return {
${rows}  };
}

}  // namespace anybit::cli
")
list(APPEND cli_commands ${list})
