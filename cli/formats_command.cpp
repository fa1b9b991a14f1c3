// anybit formats [NAME]: lists the number formats, or describes one.
#include <fmt/format.h>

#include <memory>

#include "command.hpp"
#include "format_options.hpp"
#include "format_text.hpp"
#include "options.hpp"

namespace anybit::cli {
namespace {

struct FormatsFlags {
  std::string name;
  std::vector<std::string> set;
  bool json = false;
};

Result<void> print_formats(bool json) {
  const auto formats = list_formats();
  if (!formats.ok()) return formats.error();
  fmt::print("{}", json ? to_json(*formats) : to_text(*formats));
  return {};
}

Result<void> tell_formats(const FormatsFlags& options) {
  const auto parameters = parse_parameters(options.name, options.set);
  if (!parameters.ok()) return parameters.error();
  const auto format = describe_format(options.name, *parameters);
  if (!format.ok()) return wrong_call(format.error());
  const auto text = options.json ? to_json(*format, *parameters) : to_text(*format, *parameters);
  if (!text.ok()) return text.error();
  fmt::print("{}", *text);
  return {};
}

std::function<Result<void>()> set_up_formats(CLI::App& app) {
  auto options = std::make_shared<FormatsFlags>();
  CLI::Option* name = app.add_option("NAME", options->name, "Describe this format");
  app.add_option("--set", options->set, "A parameter of the format: width=6 (may be repeated)")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->needs(name);
  app.add_flag("--json", options->json, "Print everything as JSON");
  return [options] { return options->name.empty() ? print_formats(options->json) : tell_formats(*options); };
}

}  // namespace

Command formats_command() {
  return {"List the number formats, or describe one: range, layout, parameters, an example", set_up_formats};
}

}  // namespace anybit::cli
