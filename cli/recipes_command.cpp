// anybit recipes: lists the preset recipes, or prints one.
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

void print_json_recipes() {
  auto list = nlohmann::ordered_json::array();
  for (const RecipeInfo& one : recipe_presets()) list.push_back(as_json(one));
  fmt::print("{}\n", list.dump(2));
}

void print_table_recipes() {
  Table table({{"recipe"}, {"summary"}});
  for (const RecipeInfo& one : recipe_presets()) {
    if (!one.name.ends_with("-weights")) table.add({one.name, one.summary});
  }
  fmt::print("{}\n", table.text());
  fmt::print(
      "Presets from mxfp4 on need no calibration data, and have weight-only variants such as mxfp4-weights.\n"
      "'anybit recipes NAME' prints a preset as a recipe file; docs/recipes.md explains how to write one.\n");
}

Result<void> show_recipes(const std::string& name, bool json) {
  for (const RecipeInfo& one : recipe_presets()) {
    if (one.name != name) continue;
    if (json)
      fmt::print("{}\n", as_json(one).dump(2));
    else
      fmt::print("# {}: {}\n{}\n", one.name, one.summary, one.text);
    return {};
  }
  const auto missing = Recipe::preset(name);  // the error has the nearest name
  return missing.ok() ? Result<void>() : Result<void>(wrong_call(missing.error()));
}

struct RecipesFlags {
  std::string name;
  bool json = false;
};

std::function<Result<void>()> set_up_recipes(CLI::App& app) {
  auto options = std::make_shared<RecipesFlags>();
  app.add_option("NAME", options->name, "Print this preset as a recipe file");
  app.add_flag("--json", options->json, "Print all presets, or this one, as JSON");
  return [options]() -> Result<void> {
    if (!options->name.empty()) return show_recipes(options->name, options->json);
    options->json ? print_json_recipes() : print_table_recipes();
    return {};
  };
}

}  // namespace

Command recipes_command() { return {"List the preset recipes, or print one", set_up_recipes}; }

}  // namespace anybit::cli
