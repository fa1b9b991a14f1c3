// anybit sweep MODEL --calib DATA: one model by many recipes, in one table.
#include "anybit/sweep.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "anybit/write_file.hpp"
#include "command.hpp"
#include "labels.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "recipe_options.hpp"
#include "report_file.hpp"
#include "sample_options.hpp"
#include "sweep_text.hpp"
#include "text_file.hpp"

namespace anybit::cli {
namespace {

struct SweepFlags {
  std::string model, labels, csv, report;
  std::vector<std::string> recipes, exclude;
  LoadOptions load;
  ExecutorOptions executor;
  SampleArguments samples;
  SweepOptions sweep;
  bool json = false, no_speed = false;
};

// Those that most people choose from; --recipes all has every preset.
constexpr const char* kUsual = "int8,int16x8,w8,dynamic-int8,w4,mxfp8,mxfp6,mxfp4";

Result<std::vector<SweepRecipe>> recipes_of(const SweepFlags& options) {
  std::vector<std::string> names = comma_separated(options.recipes);
  if (names.empty()) names = comma_separated({kUsual});
  if (names == std::vector<std::string>{"all"}) {
    names.clear();
    for (const RecipeInfo& one : recipe_presets()) names.push_back(one.name);
  }
  std::vector<SweepRecipe> recipes;
  for (const std::string& name : names) {
    auto recipe = excluding(named_recipe(name), options.exclude);
    if (!recipe.ok()) return std::move(recipe).error();
    recipes.push_back({name, *std::move(recipe)});
  }
  return recipes;
}

Result<void> check_sweep(const SweepFlags& options) {
  if (options.samples.paths.empty())
    return Error{Code::invalid_argument, "no data to calibrate and compare on", {}, "--calib PATH"};
  std::vector<std::string> others = options.samples.paths;
  others.insert(others.end(), {options.model, options.labels});
  for (const auto& [name, path] :
       {std::pair<const char*, std::string>{"--csv", options.csv}, {"--report", options.report}}) {
    if (auto checked = check_replaces(name, path, others); !checked.ok()) return checked;
    if (auto checked = check_writable(path); !checked.ok()) return checked;
  }
  const auto target = target_recipe(options.sweep.quantize.target);
  if (!target.ok())
    return is_file(options.sweep.quantize.target) ? target.error() : wrong_call(target.error());
  return {};
}

Result<void> run(SweepFlags& options) {
  if (auto checked = check_sweep(options); !checked.ok()) return checked;
  const auto recipes = recipes_of(options);
  if (!recipes.ok()) return recipes.error();
  SweepOptions settings = options.sweep;
  if (!options.labels.empty()) {
    auto labels = read_labels(options.labels);
    if (!labels.ok()) return std::move(labels).error();
    settings.labels = std::move(labels).value();
    settings.spare_labels = options.samples.options.limit > 0;
  }
  settings.quantize.threads = options.executor.threads;
  settings.quantize.max_memory = options.executor.max_memory;
  settings.speed = !options.no_speed;
  auto model = load_model(options.model, options.load);
  if (!model.ok()) return std::move(model).error();
  Progress progress("sweeping", "recipes", std::ssize(*recipes));
  settings.progress = [&](std::int64_t done) { progress.show(done); };
  auto found = sweep(
      *model, *recipes, [&] { return open_samples(*model, options.samples); }, settings);
  if (!found.ok()) return in_file(std::move(found).error(), options.model);
  if (!options.csv.empty()) {
    if (auto written = write_file(options.csv, sweep_csv(*found)); !written.ok()) return written;
  }
  if (!options.report.empty()) {
    ReportInput input;
    input.command = "sweep";
    input.before = {&*model, options.model, found->bytes, found->milliseconds > 0 ? found->milliseconds : -1};
    input.sweep = &*found;
    if (auto written = write_report(options.report, input); !written.ok()) return written;
  }
  fmt::print("{}",
             options.json ? sweep_json(*found, options.model) : sweep_text(*found, "recipe", options.model));
  return {};
}

std::function<Result<void>()> set_up_sweep(CLI::App& app) {
  auto options = std::make_shared<SweepFlags>();
  app.add_option("MODEL", options->model, "The float32 ONNX file")->required();
  app.add_option("--recipes,-r,--recipe", options->recipes,
                 fmt::format("Presets and files, comma-separated; all: every preset [{}]", kUsual))
      ->allow_extra_args(false);
  add_sample_options(app, "--calib,--data", options->samples);
  app.add_option("--labels", options->labels,
                 "The correct classes of the samples: .npy, or text with one per line");
  add_exclude_option(app, options->exclude);
  app.add_option("--target", options->sweep.quantize.target,
                 "The hardware or runtime: generic, ort, nnpa, ethos-u55-128, …; or a file [generic]");
  app.add_option("--emit", options->sweep.quantize.emit, "As for quantize [portable]");
  app.add_flag("--no-speed", options->no_speed, "Do not measure the speed");
  app.add_flag("--allow-nan", options->sweep.quantize.allow_nan,
               "Count NaN and infinity in activations and continue");
  add_executor_options(app, options->executor);
  app.add_option("--csv", options->csv, "Also write the table as CSV")->type_name("FILE");
  app.add_flag("--json", options->json, "Print everything as JSON");
  add_report_option(app, options->report);
  add_load_options(app, options->load);
  return [options] { return run(*options); };
}

}  // namespace

Command sweep_command() {
  return {"Quantize a model by many recipes, and compare size, accuracy and speed", set_up_sweep};
}

}  // namespace anybit::cli
