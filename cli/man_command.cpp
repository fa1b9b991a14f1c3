// anybit man: prints the manual page, generated from the definitions of the commands.
#include <fmt/format.h>

#include "anybit/version.hpp"
#include "command.hpp"
#include "definitions.hpp"

namespace anybit::cli {
namespace {

// roff reads '-' as a hyphen, '\' as an escape, and a line that begins with '.' or ''' as a request.
std::string roff(const std::string& text) {
  std::string safe = text.starts_with('.') || text.starts_with('\'') ? "\\&" : "";
  for (const char c : text) {
    if (c == '-') {
      safe += "\\-";
    } else if (c == '\\') {
      safe += "\\e";
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string option_entry(const OptionText& option) {
  std::string head;
  for (const std::string& name : option.names) {
    if (!head.empty()) head += ", ";
    head += option.positional ? fmt::format("\\fI{}\\fR", roff(name)) : fmt::format("\\fB{}\\fR", roff(name));
  }
  if (!option.value.empty()) head += fmt::format(" \\fI{}\\fR", roff(option.value));
  return fmt::format(".TP\n{}\n{}\n", head, roff(option.about));
}

std::string command_entry(const CommandText& command) {
  std::string text = fmt::format(".SS {}\n{}.\n", roff("anybit " + command.name), roff(command.about));
  for (const OptionText& option : command.options) text += option_entry(option);
  return text;
}

std::string page(const std::vector<CommandText>& all) {
  const std::string version(anybit::version().text);
  std::string text = fmt::format(
      ".TH ANYBIT 1 \"\" \"anybit {0}\" \"User Commands\"\n"
      ".SH NAME\nanybit \\- quantizes neural networks to any number format\n"
      ".SH SYNOPSIS\n.B anybit\n.I COMMAND\n[\\fIARGUMENT\\fR]...\n"
      ".SH DESCRIPTION\n{1}\n.PP\n"
      "Results go to standard output, messages to standard error: one line first, then a hint. "
      "Output files are written atomically.\n"
      ".SH OPTIONS\n",
      version, roff(all[0].about));
  for (const OptionText& option : all[0].options) text += option_entry(option);
  text += ".SH COMMANDS\n";
  for (std::size_t i = 1; i < all.size(); ++i) text += command_entry(all[i]);
  return text +
         ".SH \"EXIT STATUS\"\n"
         ".TP\n0\nSuccess.\n.TP\n1\nFailure.\n.TP\n2\nUsage error: a wrong option or argument.\n";
}

std::function<Result<void>()> set_up_man(CLI::App& app) {
  return [root = app.get_parent()]() -> Result<void> {
    fmt::print("{}", page(definitions(*root)));
    return {};
  };
}

}  // namespace

Command man_command() { return {"Print the manual page", set_up_man, true}; }

}  // namespace anybit::cli
