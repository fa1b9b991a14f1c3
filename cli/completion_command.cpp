// anybit completion bash|zsh: a script by which the shell completes commands, options and their values.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "command.hpp"
#include "definitions.hpp"

namespace anybit::cli {
namespace {

std::vector<std::string> command_names(const std::vector<CommandText>& all) {
  std::vector<std::string> names;
  for (const CommandText& one : all) {
    if (!one.name.empty()) names.push_back(one.name);
  }
  return names;
}

std::vector<std::string> option_names(const CommandText& command) {
  std::vector<std::string> names;
  for (const OptionText& one : command.options) {
    if (!one.positional) names.insert(names.end(), one.names.begin(), one.names.end());
  }
  return names;
}

// ---- bash

std::string bash_words(const std::vector<std::string>& words) {
  return fmt::format("COMPREPLY=($(compgen -W \"{}\" -- \"$word\"))", fmt::join(words, " "));
}

// What follows an option, or stands for the first argument of a command.
std::string bash_values(const std::vector<CommandText>& all) {
  std::string cases;
  for (const CommandText& command : all) {
    for (const OptionText& option : command.options) {
      if (option.choices.empty()) continue;
      std::vector<std::string> before = option.names;
      if (option.positional) before = {command.name};
      std::string pattern;
      for (const std::string& one : before)
        pattern += fmt::format("{}{}:{}", pattern.empty() ? "" : "|", command.name, one);
      cases += fmt::format("      {}) {} ;;\n", pattern, bash_words(option.choices));
    }
  }
  cases += fmt::format("      help:help) {} ;;\n", bash_words(command_names(all)));
  return cases;
}

std::string bash(const std::vector<CommandText>& all) {
  std::string options;
  for (const CommandText& one : all) {
    if (!one.name.empty()) options += fmt::format("    {}) {} ;;\n", one.name, bash_words(option_names(one)));
  }
  std::vector<std::string> first = command_names(all);
  for (const std::string& one : option_names(all[0])) first.push_back(one);
  return fmt::format(R"(# Completion of anybit for bash, made by: anybit completion bash
_anybit() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}}
  COMPREPLY=()
  # --option=value comes as three words.
  if [ "$word" = = ]; then
    word=
  elif [ "$before" = = ]; then
    before=${{COMP_WORDS[COMP_CWORD-2]}}
  fi
  if [ "$COMP_CWORD" -eq 1 ]; then
    {}
    return
  fi
  case "$word" in
    -*) ;;
    *) case "$command:$before" in
{}      esac
      return ;;
  esac
  case "$command" in
{}  esac
}}
complete -o default -F _anybit anybit
)",
                     bash_words(first), bash_values(all), options);
}

// ---- zsh

// Inside '…', in a place where [, ] and : have a meaning.
std::string zsh_text(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\'') {
      safe += "'\\''";
    } else if (c == '[' || c == ']' || c == ':' || c == '\\') {
      safe += '\\';
      safe += c;
    } else {
      safe += c;
    }
  }
  return safe;
}

std::string zsh_action(const OptionText& option) {
  const std::string name = zsh_text(option.positional ? option.names[0] : option.value);
  return option.choices.empty() ? fmt::format(":{}:_files", name)
                                : fmt::format(":{}:({})", name, fmt::join(option.choices, " "));
}

std::string zsh_option(const OptionText& option) {
  if (option.positional) return fmt::format("        '*{}' \\\n", zsh_action(option));
  std::string specs;
  for (const std::string& name : option.names)
    specs += fmt::format("        '*{}[{}]{}' \\\n", name, zsh_text(option.about),
                         option.value.empty() ? "" : zsh_action(option));
  return specs;
}

std::string zsh(const std::vector<CommandText>& all) {
  std::string commands, cases;
  for (const CommandText& one : all) {
    if (one.name.empty()) continue;
    commands += fmt::format("    '{}:{}'\n", one.name, zsh_text(one.about));
    if (one.name == "help") continue;
    std::string options;
    // Only one may take all arguments that are left.
    bool rest = false;
    for (const OptionText& option : one.options) {
      if (!option.positional || !std::exchange(rest, true)) options += zsh_option(option);
    }
    cases += fmt::format("    {})\n      _arguments \\\n{}        && return ;;\n", one.name, options);
  }
  return fmt::format(R"(#compdef anybit
# Completion of anybit for zsh, made by: anybit completion zsh
_anybit() {{
  local -a commands
  commands=(
{}  )
  if (( CURRENT == 2 )) || {{ (( CURRENT == 3 )) && [[ $words[2] == help ]] }}; then
    _describe command commands
    return
  fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
_anybit "$@"
)",
                     commands, cases);
}

std::function<Result<void>()> set_up(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash or zsh")->required();
  return [shell, root = app.get_parent()]() -> Result<void> {
    const std::vector<CommandText> all = definitions(*root);
    if (*shell != "bash" && *shell != "zsh")
      return Error{Code::invalid_argument, fmt::format("no completion for '{}'", *shell), {}, "bash or zsh"};
    fmt::print("{}", *shell == "bash" ? bash(all) : zsh(all));
    return {};
  };
}

}  // namespace

Command completion_command() {
  return {"Print a script by which a shell completes commands and options", set_up, true};
}

}  // namespace anybit::cli
