/// @file
/// Sweep: one model by many recipes. Calibration and the runs of the float model are shared. docs/sweep.md.
///
/// @code{.cpp}
/// #include <cstdio>
///
/// auto model = anybit::Model::load("model.onnx");
/// if (!model) return;
/// auto inputs = anybit::inputs_of(*model);
/// if (!inputs) return;
/// std::vector<anybit::SweepRecipe> recipes;
/// for (const char* name : {"int8", "w8", "int16x8"}) {
///   auto recipe = anybit::Recipe::preset(name);
///   if (recipe) recipes.push_back({name, *recipe});
/// }
/// auto found = anybit::sweep(*model, recipes, [&] { return anybit::open_samples(*inputs, {"samples/"}); });
/// if (!found) return;
/// for (const anybit::SweepRow& row : found->rows)
///   std::printf("%s: %s\n", row.recipe.c_str(), to_string(row.comparison.verdict.level).c_str());
/// @endcode
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "anybit/compare.hpp"
#include "anybit/export.hpp"
#include "anybit/model.hpp"
#include "anybit/quantize.hpp"
#include "anybit/result.hpp"
#include "anybit/samples.hpp"

namespace anybit {

/// A recipe of a sweep.
struct SweepRecipe {
  std::string name;
  Recipe recipe;
};

/// What a recipe makes of the model.
struct SweepRow {
  std::string recipe;
  std::string failed;      ///< why there is no model; empty: there is one
  std::int64_t bytes = 0;  ///< of the file
  Comparison comparison;   ///< with the float model, without layers
  /// SQNR of the part of the outputs that the verdict puts last, in dB.
  double sqnr = 0;
  /// Time of a run of the float model divided by that of this one, measured in turns; 0: not measured.
  double speed = 0;
  double milliseconds = 0;       ///< of a run
  std::optional<double> metric;  ///< by SweepOptions::metric
};

/// The result of sweep().
struct Sweep {
  std::int64_t bytes = 0;        ///< of the float model's file
  double milliseconds = 0;       ///< of a run of the float model; 0: not measured
  std::optional<double> metric;  ///< of the float model
  std::vector<SweepRow> rows;    ///< in the order of the recipes
};

/// Opens the samples from the first; called once per pass.
using OpenSamples = std::function<Result<Samples>()>;

/// A measure of the caller's own, where more is better.
struct Metric {
  std::string name;
  std::function<Result<double>(const Model&)> of;
};

/// Options of sweep().
struct SweepOptions {
  QuantizeOptions quantize = {};      ///< `ranges`, `histograms` and `progress` are not used
  std::vector<std::int64_t> labels;   ///< one per row of scores, in order; empty: none
  bool spare_labels = false;          ///< allow more labels than rows, as when samples are limited
  bool speed = true;                  ///< measure the speed
  std::optional<Metric> metric = {};  ///< takes the place of the verdict's own measures, as judged_by() does
  /// Called before each recipe, and at the end, with the number of finished ones.
  std::function<void(std::int64_t done)> progress = {};
};

/// Quantizes a model by each recipe and compares the results with it, one at a time. A recipe that the model
/// cannot take is a row with the reason.
ANYBIT_API Result<Sweep> sweep(const Model& model, const std::vector<SweepRecipe>& recipes,
                               const OpenSamples& open, const SweepOptions& options = {}) noexcept;

/// Returns the rows as a JSON array, the same in all results of anybit in JSON.
ANYBIT_API std::string to_json(const Sweep& sweep);

}  // namespace anybit
