// Recipes on the command line: presets and files, and nodes that stay in float.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "anybit/quantize.hpp"
#include "anybit/result.hpp"

namespace anybit::cli {

// Whether the value of --recipe or --target is a path.
bool is_file(const std::string& text);
// A preset, or a file.
Result<Recipe> named_recipe(const std::string& name);

// --exclude: operators and nodes that stay in float.
void add_exclude_option(CLI::App& app, std::vector<std::string>& words);
// Adds a rule for each word of --exclude: an operator type if one has that name, and a node name otherwise.
Result<Recipe> excluding(Result<Recipe> recipe, const std::vector<std::string>& words);

}  // namespace anybit::cli
