// anybit recipes: the recipes that have a name, and what each says.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "anybit/quantize.hpp"
#include "command.hpp"
#include "options.hpp"
#include "table.hpp"

namespace anybit::cli {
namespace {

nlohmann::ordered_json as_json(const RecipeInfo& one) {
  return {{"name", one.name}, {"summary", one.summary}, {"text", one.text}};
}

void print_json() {
  auto list = nlohmann::ordered_json::array();
  for (const RecipeInfo& one : recipe_presets()) list.push_back(as_json(one));
  fmt::print("{}\n", list.dump(2));
}

void print_table() {
  Table table({{"recipe"}, {"what it does"}});
  for (const RecipeInfo& one : recipe_presets()) {
    if (!one.name.ends_with("-weights")) table.add({one.name, one.summary});
  }
  fmt::print("{}\n", table.text());
  fmt::print(
      "Those from mxfp4 on need no samples, and are there for weights alone, too: mxfp4-weights.\n"
      "'anybit recipes NAME' shows a recipe as a file could have it; docs/recipes.md tells how to write "
      "one.\n");
}

Result<void> show(const std::string& name, bool json) {
  for (const RecipeInfo& one : recipe_presets()) {
    if (one.name != name) continue;
    if (json)
      fmt::print("{}\n", as_json(one).dump(2));
    else
      fmt::print("# {}: {}\n{}\n", one.name, one.summary, one.text);
    return {};
  }
  const auto missing = Recipe::preset(name);  // says so, with the nearest name
  return missing.ok() ? Result<void>() : Result<void>(wrong_call(missing.error()));
}

struct Options {
  std::string name;
  bool json = false;
};

std::function<Result<void>()> set_up(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("NAME", options->name, "Show this one as a file could have it");
  app.add_flag("--json", options->json, "Print all of them, or this one, as JSON");
  return [options]() -> Result<void> {
    if (!options->name.empty()) return show(options->name, options->json);
    options->json ? print_json() : print_table();
    return {};
  };
}

}  // namespace

Command recipes_command() { return {"List the recipes that have a name", set_up}; }

}  // namespace anybit::cli
