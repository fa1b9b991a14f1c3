// --auto of `anybit quantize`: a recipe with the layers promoted that hurt most, until a bound holds.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "anybit/quantize.hpp"
#include "anybit/result.hpp"
#include "quantize_recipe.hpp"
#include "sample_options.hpp"

namespace anybit::cli {

struct AutoFlags {
  bool automatic = false;
  double min_snr = 0;                   // 0: a verdict of ok
  std::optional<double> max_drop = {};  // of the top-1 accuracy in percent, or of the metric
  std::string metric;                   // a command
  std::string recipe_output;
};

void add_auto_options(CLI::App& app, AutoFlags& flags);

// What the search for a recipe needs to know.
struct AutoTask {
  const Model& model;
  const AutoFlags& flags;
  const SampleArguments& samples;
  const QuantizeOptions& quantize;
  const std::vector<std::int64_t>& labels;
  std::string output;  // trials are written beside it
  bool quiet = false;
};

// Checks that the options fit together.
Result<void> check_auto(const AutoFlags& flags, bool has_samples, bool has_labels);
// An error if no mixture keeps the bound, or only the float model.
Result<Recipe> promoted(const AutoTask& task, Recipe recipe);

}  // namespace anybit::cli
