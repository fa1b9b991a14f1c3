// The program: finds the command, parses its options, runs it and reports errors. Exit codes: 0 success, 1
// failure, 2 usage error.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "anybit/version.hpp"
#include "command.hpp"
#include "program.hpp"
#include "spelling.hpp"
#include "terminal.hpp"

namespace anybit::cli {
namespace {

std::string version_text() {
  const Version v = version();
  return fmt::format("anybit {} ({}, {}, {}, {})", v.text, v.compiler, v.build, v.with, v.simd);
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const NamedCommand& one : commands()) names.push_back(one.name);
  names.emplace_back("help");
  return names;
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

// An error of CLI11 as an Error, with the nearest spelling of an unknown name.
Error explained(const CLI::ParseError& error, const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  const CLI::App& where = chosen.empty() ? app : *chosen[0];
  const std::string help = chosen.empty()
                               ? "'anybit --help' lists the commands"
                               : fmt::format("'anybit {} --help' lists its options", where.get_name());
  std::vector<std::string> rest = where.remaining();
  if (rest.empty()) rest = app.remaining();
  if (rest.empty()) return {Code::invalid_argument, error.what(), {}, help};
  const bool flag = rest[0].starts_with("-");
  const std::string word = rest[0].substr(0, rest[0].find('='));
  const std::string near = did_you_mean(word, flag ? flags_of(where) : command_names());
  const std::string kind = flag ? "option" : chosen.empty() ? "command" : "argument";
  return {Code::invalid_argument,
          fmt::format("unknown {} '{}'", kind, printable(word)),
          {},
          near.empty() || kind == "argument" ? help : near};
}

int help(const CLI::App& app, std::string topic) {
  if (topic == "-h" || topic == "--help") topic.clear();
  const auto named = app.get_subcommands([&](const CLI::App* one) { return one->get_name() == topic; });
  if (named.empty() && !topic.empty()) {
    complain("anybit", fmt::format("unknown command '{}'", printable(topic)),
             did_you_mean(topic, command_names()));
    return kWrongCall;
  }
  fmt::print("{}", topic.empty() ? app.help() : named[0]->help(app.get_name()));
  return kFine;
}

// Whether the call `anybit FIRST …` needs the options of a command: adding all options takes milliseconds.
bool is_needed(const NamedCommand& command, std::string_view first, std::span<const NamedCommand> all) {
  const auto called = std::ranges::find(all, first, &NamedCommand::name);
  return called == all.end() || called->command.tells_all || called->name == command.name;
}

// An empty option or argument is always an error, such as an unset variable in a script.
Error empty_text(std::string_view name) {
  return {Code::invalid_argument,
          fmt::format("{} is empty", name),
          {},
          name.starts_with("-") ? "give a value, or leave the option out" : "the name of a file"};
}

// The name of an option like "--output=", for which CLI11 would take the next argument as the value.
std::string_view bare_option(std::span<char* const> arguments) {
  for (const std::string_view one : arguments) {
    if (one == "--") break;
    if (one.starts_with("--") && one.find('=') == one.size() - 1) return one.substr(0, one.size() - 1);
  }
  return {};
}

// The arguments, with the second dash of long options that a command takes with one dash as well.
std::vector<std::string> with_two_dashes(std::span<char* const> arguments,
                                         std::span<const NamedCommand> all) {
  std::vector<std::string> texts(arguments.begin(), arguments.end());
  const auto called =
      std::ranges::find(all, texts.size() > 1 ? texts[1] : std::string(), &NamedCommand::name);
  if (called == all.end()) return texts;
  for (std::string& text : texts) {
    if (text.size() < 2 || text[0] != '-' || text[1] == '-') continue;
    const std::string name = text.substr(1, text.find('=') - 1);
    if (std::ranges::count(called->command.one_dash, name) > 0) text.insert(0, 1, '-');
  }
  return texts;
}

Result<void> run_command(const CLI::App& app, const std::function<Result<void>()>& action) {
  const auto empty = app.get_options([](const CLI::Option* one) {
    return one->get_items_expected_max() > 0 && std::ranges::count(one->results(), "") > 0;
  });
  if (!empty.empty()) return empty_text(empty[0]->get_name());
  auto checked = check_environment();
  return checked.ok() ? action() : checked;
}

int run(int argc, char** argv) {
  CLI::App app(
      "Quantizes neural networks: an ONNX model in, a smaller and faster one out, in any number format.",
      "anybit");
  app.set_version_flag("--version", version_text(), "Print the version and how it was built");
  app.get_formatter()->column_width(34);
  app.set_help_flag("-h,--help", "Print this help");
  app.allow_extras();
  app.footer("'anybit help COMMAND' describes one command.");
  std::vector<std::pair<CLI::App*, std::function<Result<void>()>>> actions;
  const std::vector<NamedCommand> all = commands();
  for (const NamedCommand& one : all) {
    CLI::App* sub = app.add_subcommand(one.name, one.command.summary);
    sub->allow_extras(false);
    if (!is_needed(one, argc > 1 ? argv[1] : "", all)) continue;
    actions.emplace_back(sub, one.command.set_up(*sub));
  }
  app.add_subcommand("help", "Describe one command");
  // Before CLI11 reads the rest: it would take the topic for the command itself.
  if (argc > 1 && std::string_view(argv[1]) == "help") return help(app, argc > 2 ? argv[2] : "");

  const std::span<char* const> arguments(argv, static_cast<std::size_t>(argc));
  const bool json = std::ranges::count(arguments, std::string_view("--json")) > 0;
  if (const std::string_view bare = bare_option(arguments); !bare.empty())
    return report("anybit", empty_text(bare), json);

  try {
    std::vector<std::string> texts = with_two_dashes(arguments, all);
    texts.erase(texts.begin());
    std::ranges::reverse(texts);  // as CLI11 takes them
    app.parse(std::move(texts));
  } catch (const CLI::Success& asked) {  // --help, --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    return report("anybit", explained(error, app), json);
  }
  if (!app.remaining().empty())
    return report("anybit", explained(CLI::ExtrasError(app.remaining()), app), json);
  for (const auto& [sub, action] : actions) {
    if (!sub->parsed()) continue;
    const Result<void> done = run_command(*sub, action);
    const CLI::Option* asked = sub->get_option_no_throw("--json");
    return done.ok() ? kFine : report("anybit", done.error(), asked && asked->count() > 0);
  }
  fmt::print("{}", app.help());  // a bare `anybit` asks what there is
  return kFine;
}

}  // namespace
}  // namespace anybit::cli

int main(int argc, char** argv) {
  return anybit::cli::run_program("anybit", [&] { return anybit::cli::run(argc, argv); });
}
