#include "recipe_options.hpp"

#include <filesystem>

#include "options.hpp"

namespace anybit::cli {

bool is_file(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(".yaml") || text.ends_with(".yml") ||
         text.ends_with(".json");
}

Result<Recipe> named_recipe(const std::string& name) {
  if (!is_file(name)) {
    auto recipe = Recipe::preset(name);
    if (!recipe.ok()) return wrong_call(std::move(recipe).error());
    return recipe;
  }
  auto recipe = Recipe::from_file(name);
  if (recipe.ok()) return recipe;
  std::error_code ignored;
  Error error = in_file(std::move(recipe).error(), name);
  return std::filesystem::exists(name, ignored) ? wrong_call(std::move(error)) : error;
}

void add_exclude_option(CLI::App& app, std::vector<std::string>& words) {
  app.add_option("--exclude", words,
                 "Leave these in float: operators, or nodes by name (with wildcards * and ?), "
                 "comma-separated")
      ->allow_extra_args(false);
}

Result<Recipe> excluding(Result<Recipe> recipe, const std::vector<std::string>& words) {
  for (const std::string& word : comma_separated(words)) {
    if (recipe.ok()) recipe = recipe->with(is_operator(word) ? "type" : "name", word, "float");
  }
  return recipe;
}

}  // namespace anybit::cli
