// anybit quantize MODEL -o OUT: quantizes a model.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>

#include "anybit/calibrate.hpp"
#include "anybit/compare.hpp"
#include "anybit/quantize.hpp"
#include "auto_recipe.hpp"
#include "command.hpp"
#include "comparison_text.hpp"
#include "format_text.hpp"
#include "labels.hpp"
#include "numbers.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "quantization_text.hpp"
#include "quantize_recipe.hpp"
#include "recipe_options.hpp"
#include "report_file.hpp"
#include "sample_options.hpp"
#include "terminal.hpp"
#include "text_file.hpp"
#include "training.hpp"
#include "verdict_text.hpp"

namespace anybit::cli {
namespace {

struct QuantizeFlags {
  std::string model, output;
  LoadOptions load;
  ExecutorOptions executor;
  QuantizeOptions quantize;
  SampleArguments samples;
  RecipeFlags recipe;
  TrainingFlags training;
  std::string ranges, report;
  std::string labels;  // a file
  bool no_prepare = false;
  std::uint64_t seed = 0;
  bool in_place = false, evaluate = false, json = false, verbose = false, no_verdict = false;
  AutoFlags automatic;
};

// A verdict needs few samples: a model that is broken is so on most of them.
constexpr std::int64_t kVerdictSamples = 8;
constexpr std::int64_t kKeptOutputs = std::int64_t{128} << 20;  // bytes, from calibration for the verdict

// Where the state of training is kept until the model is written.
std::string state_file(const QuantizeFlags& options) { return options.output + ".training"; }

Result<Quantization> trained(const Model& model, const Recipe& recipe, Samples& samples,
                             QuantizeOptions& settings, const QuantizeFlags& options,
                             const std::vector<std::int64_t>& labels) {
  TrainingOptions& training = settings.training.emplace(options.training.options);
  if (training.loss == "auto" || training.loss == "ce") training.labels = labels;
  training.checkpoint = state_file(options);
  training.resume = options.training.resume;
  TrainingProgress progress;
  training.on_step = [&](const TrainingStep& step) { return progress.show(step); };
  return quantize(model, recipe, &samples, settings);
}

Result<Quantization> quantized(const Model& model, const Recipe& recipe, const QuantizeFlags& options,
                               const std::vector<std::int64_t>& labels,
                               const std::optional<ReferenceOutputs>& outputs) {
  QuantizeOptions settings = options.quantize;
  settings.outputs = outputs;
  std::optional<Ranges> ranges;
  if (!options.ranges.empty()) {
    auto loaded = Ranges::load(options.ranges);
    if (!loaded.ok()) return in_file(std::move(loaded).error(), options.ranges);
    settings.ranges = &ranges.emplace(std::move(loaded).value());
  }
  if (options.samples.paths.empty()) return quantize(model, recipe, nullptr, settings);
  auto samples = open_samples(model, options.samples);
  if (!samples.ok()) return std::move(samples).error();
  Progress progress("calibrating", "samples", samples->count());
  settings.progress = [&](std::int64_t done) { progress.show(done); };
  if (options.training.train) return trained(model, recipe, *samples, settings, options, labels);
  return quantize(model, recipe, &*samples, settings);
}

// Compares the quantized model with the original on the calibration data: outputs of the first samples for a
// verdict, or everything with --evaluate, --labels or --report.
Result<Comparison> evaluated(const Model& before, const Model& after, std::vector<std::int64_t> labels,
                             const QuantizeFlags& options, bool everything,
                             const std::optional<ReferenceOutputs>& outputs) {
  CompareOptions settings;
  settings.layers = everything;
  settings.shared = outputs;
  settings.threads = options.executor.threads;
  settings.max_memory = options.executor.max_memory;
  settings.labels = std::move(labels);
  settings.spare_labels = options.samples.options.limit > 0;
  SampleArguments from = options.samples;
  if (!everything && (from.options.limit == 0 || from.options.limit > kVerdictSamples))
    from.options.limit = kVerdictSamples;
  auto samples = open_samples(before, from);
  if (!samples.ok()) return std::move(samples).error();
  Progress progress("evaluating", "samples", samples->count());
  settings.progress = [&](std::int64_t done) { progress.show(done); };
  return compare(before, after, *samples, settings);
}

// A verdict that nobody asked for is no reason to fail.
Comparison uncompared(const Error& error) {
  Comparison comparison;
  comparison.verdict.reason = error.text();
  return comparison;
}

// Checks the options before any work is done.
Result<void> check_quantize(const QuantizeFlags& options) {
  auto checked = check_output(options.model, options.output, options.in_place);
  std::vector<std::string> others = options.samples.paths;
  others.insert(others.end(),
                {options.model, options.output, options.ranges, options.recipe.recipe, options.labels});
  if (checked.ok()) checked = check_replaces("--report", options.report, others);
  for (const std::string& path : {options.output, options.report}) {
    if (checked.ok()) checked = check_writable(path);
  }
  if (!checked.ok()) return checked;
  const auto target = target_recipe(options.quantize.target);
  if (!target.ok()) return is_file(options.quantize.target) ? target.error() : wrong_call(target.error());
  if ((options.evaluate || !options.labels.empty()) && options.samples.paths.empty())
    return Error{Code::invalid_argument, "no data to evaluate the model on", {}, "--calib PATH"};
  const TrainingFlags& training = options.training;
  if (training.train && options.samples.paths.empty())
    return Error{Code::invalid_argument, "no data to train on", {}, "--calib PATH"};
  const bool settings = training.resume || training.options.steps != 0 || training.options.minutes != 0 ||
                        training.options.loss != "auto";
  if (!training.train && settings)
    return wrong_call(Error{Code::invalid_argument, "options of training without --train", {}, "--train"});
  if (training.options.steps != 0 && training.options.minutes != 0)
    return wrong_call(Error{Code::invalid_argument, "--steps and --minutes", {}, "one of them"});
  return check_auto(options.automatic, !options.samples.paths.empty(), !options.labels.empty());
}

Result<void> run(QuantizeFlags& options) {
  if (auto read = read_machine(options.recipe); !read.ok()) return read;
  options.quantize.target = options.recipe.target;
  if (auto checked = check_quantize(options); !checked.ok()) return checked;
  auto labels = options.labels.empty() ? std::vector<std::int64_t>() : read_labels(options.labels);
  if (!labels.ok()) return std::move(labels).error();
  auto recipe = recipe_of(options.recipe);
  if (!recipe.ok()) return std::move(recipe).error();
  auto model = load_model(options.model, options.load);
  if (!model.ok()) return std::move(model).error();
  if (options.automatic.automatic) {
    recipe = promoted({.model = *model,
                       .flags = options.automatic,
                       .samples = options.samples,
                       .quantize = options.quantize,
                       .labels = *labels,
                       .output = options.output,
                       .quiet = options.json},
                      *std::move(recipe));
    if (!recipe.ok()) return of_model(std::move(recipe).error(), options.model);
  }
  const bool everything = options.evaluate || !options.labels.empty() || !options.report.empty();
  std::optional<ReferenceOutputs> outputs;
  if (!everything && !options.no_verdict) outputs.emplace(kKeptOutputs, kVerdictSamples);
  auto result = quantized(*model, *recipe, options, *labels, outputs);
  if (!result.ok()) return of_model(std::move(result).error(), options.model);
  auto saved = result->model.save(options.output);
  if (!saved.ok()) return in_file(std::move(saved).error(), options.output);
  if (options.training.train) ::unlink(state_file(options).c_str());
  std::optional<Comparison> comparison;
  if (!options.samples.paths.empty() && !options.no_verdict) {
    auto compared = evaluated(*model, result->model, *std::move(labels), options, everything, outputs);
    if (!compared.ok() && everything) {  // the model is written: print its summary all the same
      if (!options.json) fmt::print("{}", quantization_text(result->report, options.output, options.verbose));
      return std::move(compared).error().within("the model is written, but not compared");
    }
    if (!compared.ok()) compared = uncompared(compared.error());
    comparison = std::move(compared).value();
    // The report has the remarks on the same samples already.
    std::erase_if(comparison->remarks, [&](const std::string& one) {
      return std::ranges::count(result->report.remarks, one) != 0;
    });
  }
  const ComparedFiles files = compared_files(options.model, options.output);
  if (!options.report.empty()) {
    ReportInput input{
        .command = "quantize",
        .before = reported(*model, options.model, files.reference_bytes, options.samples, options.executor),
        .after =
            reported(result->model, options.output, files.other_bytes, options.samples, options.executor),
        .quantization = &result->report,
        .comparison = comparison ? &*comparison : nullptr,
        .range = {}};
    if (auto written = write_report(options.report, input); !written.ok()) return written;
  }
  if (options.json) {
    fmt::print("{}", quantization_json(result->report, comparison ? &*comparison : nullptr, files,
                                       options.samples, !everything));
    return {};
  }
  fmt::print("{}", quantization_text(result->report, options.output, options.verbose));
  if (comparison && everything) fmt::print("\n{}", comparison_text(*comparison, files, 10));
  if (comparison)
    fmt::print("\n{}",
               verdict_text(comparison->verdict, {options.model, options.output, options.samples,
                                                  options.recipe.recipe, result->report.gains_by_training}));
  if (!options.report.empty()) fmt::print("\nReport  {}\n", options.report);
  return {};
}

std::function<Result<void>()> set_up_quantize(CLI::App& app) {
  auto options = std::make_shared<QuantizeFlags>();
  app.add_option("MODEL", options->model, "The float32 ONNX file")->required();
  app.add_option("-o,--output", options->output, "Where to write the quantized file")->required();
  add_recipe_options(app, options->recipe);
  add_sample_options(app, "--calib,--data", options->samples);
  app.add_option("--ranges", options->ranges, "Ranges from `anybit calibrate`, instead of calibration data");
  app.add_option(
      "--emit", options->quantize.emit,
      "portable (formats that ONNX lacks are model functions), packed (they are operators of "
      "anybit), qdq (only types of ONNX), qoperator (QLinearConv, …), quark (AMD Quark's operators "
      "behind every value) [portable]");
  app.add_option("--domain", options->quantize.domain,
                 "With --emit quark: com.amd.quark, or com.vai.quantize for older tools [com.amd.quark]");
  app.add_flag("--strict", options->quantize.strict,
               "An operator that the recipe names and the target does not run is an error, not a remark");
  app.add_flag("--no-prepare", options->no_prepare, "Do not prepare the graph: fold nothing");
  app.add_flag("--requantize", options->quantize.requantize, "Accept a model that is quantized already");
  app.add_flag("--allow-nan", options->quantize.allow_nan,
               "Count NaN and infinity in activations and continue");
  app.add_flag("--reproducible", options->quantize.reproducible,
               "Identical file on every x86-64 CPU, with slower float kernels during calibration");
  auto* evaluate = app.add_flag("--evaluate", options->evaluate,
                                "Also measure the error: SQNR of every layer, agreement of the top-1 class");
  auto* labels =
      app.add_option("--labels", options->labels,
                     "The correct classes of the samples; implies --evaluate, with top-1 and top-5");
  auto* no_verdict =
      app.add_flag("--no-verdict", options->no_verdict,
                   "Do not run the result on calibration data to judge it: for scripts that judge it "
                   "themselves");
  add_training_options(app, options->training);
  add_auto_options(app, options->automatic);
  add_in_place_flag(app, options->in_place);
  add_executor_options(app, options->executor);
  app.add_option("--seed", options->seed, "Seed of random choices: of training")
      ->transform(parse_integer(0, UINT64_MAX));
  app.add_flag("--json", options->json, "Print the report as JSON");
  app.add_flag("-v,--verbose", options->verbose, "Show the outcome of every node and its reason");
  add_report_option(app, options->report);
  no_verdict->excludes(evaluate)->excludes(labels)->excludes(app.get_option("--report"));
  add_load_options(app, options->load);
  return [options] {
    options->quantize.histograms = !options->report.empty();
    options->quantize.prepare = !options->no_prepare;
    options->quantize.threads = options->executor.threads;
    options->quantize.max_memory = options->executor.max_memory;
    options->training.options.seed = options->seed;
    return run(*options);
  };
}

}  // namespace

Command quantize_command() {
  return {.summary = "Quantize a model according to a recipe",
          .set_up = set_up_quantize,
          .one_dash = one_dash_options()};
}

}  // namespace anybit::cli
