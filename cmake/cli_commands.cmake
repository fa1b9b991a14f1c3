# Generates the list of the program's commands, one per file cli/NAME_command.cpp, and adds it to cli_sources.
set(commands ${cli_sources})
list(FILTER commands INCLUDE REGEX "/[a-z_]+_command\\.cpp$")
list(SORT commands)
set(declarations "")
set(rows "")
foreach(source IN LISTS commands)
  get_filename_component(name ${source} NAME_WE)
  string(REPLACE "_command" "" command ${name})
  string(REPLACE "_" "-" command ${command})
  string(APPEND declarations "Command ${name}();\n")
  string(APPEND rows "      {\"${command}\", ${name}()},\n")
endforeach()
set(list ${PROJECT_BINARY_DIR}/generated/cli_commands.cpp)
file(CONFIGURE OUTPUT ${list} CONTENT "// Made by cmake/cli_commands.cmake from the files of cli.
#include \"command.hpp\"

namespace anybit::cli {
${declarations}
std::vector<NamedCommand> commands() {
  return {
${rows}  };
}

}  // namespace anybit::cli
")
list(APPEND cli_sources ${list})
