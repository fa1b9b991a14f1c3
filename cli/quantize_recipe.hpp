// The options of `anybit quantize` that make up its recipe, and those of onnx-mlir's command line.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "anybit/quantize.hpp"

namespace anybit::cli {

struct RecipeFlags {
  std::string recipe, refine, reduce_range;
  std::string config;   // a configuration file of onnx-mlir
  std::string dynamic;  // the value of --dynamic; "true": no value
  std::string target;
  bool weight_only = false;
  std::vector<std::string> op_types, exclude;
  std::string accelerator, machine;  // onnx-mlir's --maccel; --march or --mcpu
};

void add_recipe_options(CLI::App& app, RecipeFlags& flags);
// onnx-mlir takes its options with one dash, too: -maccel=NNPA.
std::vector<std::string> one_dash_options();

// Sets the target of --maccel and --march.
Result<void> read_machine(RecipeFlags& flags);
Result<Recipe> recipe_of(const RecipeFlags& flags);

}  // namespace anybit::cli
