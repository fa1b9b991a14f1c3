// anybit sensitivity MODEL --calib DATA: which layers cost the most, measured at the outputs.
#include "anybit/sensitivity.hpp"

#include <fmt/format.h>

#include <memory>

#include "command.hpp"
#include "numbers.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "recipe_options.hpp"
#include "report_file.hpp"
#include "sample_options.hpp"
#include "sensitivity_text.hpp"
#include "text_file.hpp"

namespace anybit::cli {
namespace {

struct SensitivityFlags {
  std::string model, recipe, report;
  LoadOptions load;
  ExecutorOptions executor;
  SampleArguments samples;
  SensitivityOptions sensitivity;
  std::vector<std::string> exclude;
  std::int64_t rows = 20;
  bool json = false;
};

// The page shows the layers in the quantized model, beside its verdict.
Result<void> report(const Model& model, const Recipe& recipe, const Sensitivity& found,
                    const SensitivityFlags& options) {
  QuantizeOptions settings;
  settings.target = options.sensitivity.target;
  settings.threads = options.executor.threads;
  settings.max_memory = options.executor.max_memory;
  settings.allow_nan = options.sensitivity.allow_nan;
  settings.histograms = true;
  auto calibration = open_samples(model, options.samples);
  if (!calibration.ok()) return std::move(calibration).error();
  auto quantized = quantize(model, recipe, &*calibration, settings);
  if (!quantized.ok()) return std::move(quantized).error();
  CompareOptions comparing;
  comparing.threads = settings.threads;
  comparing.max_memory = settings.max_memory;
  auto samples = open_samples(model, options.samples);
  if (!samples.ok()) return std::move(samples).error();
  auto comparison = compare(model, quantized->model, *samples, comparing);
  if (!comparison.ok()) return std::move(comparison).error();
  ReportInput input;
  input.command = "sensitivity";
  input.before = {&model, options.model};
  input.after.model = &quantized->model;
  input.quantization = &quantized->report;
  input.comparison = &*comparison;
  input.sensitivity = &found;
  return write_report(options.report, input);
}

Result<void> check_sensitivity(const SensitivityFlags& options) {
  std::vector<std::string> others = options.samples.paths;
  others.push_back(options.model);
  if (auto checked = check_replaces("--report", options.report, others); !checked.ok()) return checked;
  return check_writable(options.report);
}

Result<void> run(SensitivityFlags& options) {
  if (auto checked = check_sensitivity(options); !checked.ok()) return checked;
  if (options.samples.paths.empty())
    return Error{Code::invalid_argument, "no data to measure the sensitivity on", {}, "--calib PATH"};
  if (options.recipe.empty()) {
    auto preset = target_recipe(options.sensitivity.target);
    if (!preset.ok())
      return is_file(options.sensitivity.target) ? preset.error() : wrong_call(preset.error());
    options.recipe = *preset;
  }
  auto recipe = excluding(named_recipe(options.recipe), options.exclude);
  if (!recipe.ok()) return std::move(recipe).error();
  auto model = load_model(options.model, options.load);
  if (!model.ok()) return std::move(model).error();
  auto samples = open_samples(*model, options.samples);
  if (!samples.ok()) return std::move(samples).error();
  SensitivityOptions settings = options.sensitivity;
  settings.threads = options.executor.threads;
  settings.max_memory = options.executor.max_memory;
  Progress progress("measuring", "layers", std::nullopt);
  settings.progress = [&](std::int64_t done, std::int64_t) { progress.show(done); };
  auto found = sensitivity(*model, *recipe, *samples, settings);
  if (!found.ok()) return in_file(std::move(found).error(), options.model);
  if (!options.report.empty()) {
    if (auto written = report(*model, *recipe, *found, options); !written.ok()) return written;
  }
  const SensitivityContext context{options.model, options.recipe, options.exclude, options.samples};
  fmt::print("{}", options.json ? sensitivity_json(*found, context)
                                : sensitivity_text(*found, context, options.rows));
  return {};
}

std::function<Result<void>()> set_up_sensitivity(CLI::App& app) {
  auto options = std::make_shared<SensitivityFlags>();
  app.add_option("MODEL", options->model, "The float32 ONNX file")->required();
  app.add_option("-r,--recipe", options->recipe, "A preset (int8, w8, w4, dynamic-int8, …) or a file [int8]");
  add_sample_options(app, "--calib,--data", options->samples);
  app.add_option("--layers", options->sensitivity.layers,
                 "Measure only this many layers, those with the largest first-order estimates [all]")
      ->transform(parse_integer(1))
      ->type_name("N");
  app.add_option("--measure", options->sensitivity.samples,
                 "Measure on this many of the samples; calibration uses all [4]")
      ->transform(parse_integer(1))
      ->type_name("N");
  app.add_option("--max-kept", options->sensitivity.max_kept,
                 "Bytes of values that are kept between runs; with less, more is computed twice [512 MiB]")
      ->transform(parse_integer(1))
      ->type_name("BYTES");
  add_exclude_option(app, options->exclude);
  app.add_option("--target", options->sensitivity.target,
                 "The hardware or runtime: generic, ort, nnpa, ethos-u55-128, …; or a file [generic]");
  app.add_option("--rows", options->rows, "How many layers to show, most harmful first [20]")
      ->transform(parse_integer(0));
  app.add_flag("--allow-nan", options->sensitivity.allow_nan,
               "Count NaN and infinity in activations and continue");
  add_executor_options(app, options->executor);
  app.add_flag("--json", options->json, "Print everything as JSON");
  add_report_option(app, options->report);
  add_load_options(app, options->load);
  return [options] { return run(*options); };
}

}  // namespace

Command sensitivity_command() {
  return {"Measure how much each layer costs when it is quantized", set_up_sensitivity};
}

}  // namespace anybit::cli
