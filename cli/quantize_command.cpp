// anybit quantize MODEL -o OUT: quantizes a model.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "anybit/calibrate.hpp"
#include "anybit/compare.hpp"
#include "anybit/quantize.hpp"
#include "command.hpp"
#include "comparison_text.hpp"
#include "format_text.hpp"
#include "labels.hpp"
#include "numbers.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "quantization_text.hpp"
#include "recipe_options.hpp"
#include "report_file.hpp"
#include "sample_options.hpp"
#include "terminal.hpp"
#include "text_file.hpp"
#include "verdict_text.hpp"

namespace anybit::cli {
namespace {

struct QuantizeFlags {
  std::string model, output;
  LoadOptions load;
  ExecutorOptions executor;
  QuantizeOptions quantize;
  SampleArguments samples;
  std::string recipe, refine, reduce_range, ranges, report;
  std::string labels;   // a file
  std::string dynamic;  // the value of --dynamic; "true": no value
  bool weight_only = false, no_prepare = false;
  std::uint64_t seed = 0;
  std::vector<std::string> op_types, exclude;
  std::vector<std::string> machine;  // the values of -m: accel=NNPA
  bool in_place = false, evaluate = false, json = false, verbose = false;
};

// The scheme of --dynamic=symActivation|asymActivation,symWeight|asymWeight, in any order; anybit chooses
// what is not given.
Result<std::string> dynamic_scheme(const QuantizeFlags& options) {
  constexpr const char* kWords = "symActivation or asymActivation, symWeight or asymWeight, comma-separated";
  std::string data, weight;  // the given words
  for (const std::string& word : split({options.dynamic})) {
    if (word == "true") break;  // no value
    const bool about_data = word == "symActivation" || word == "asymActivation";
    if (!about_data && word != "symWeight" && word != "asymWeight")
      return Error{Code::invalid_argument,
                   fmt::format("--dynamic={}: unknown word '{}'", options.dynamic, word),
                   {},
                   kWords};
    std::string& given = about_data ? data : weight;
    if (!given.empty() && given != word)
      return Error{Code::invalid_argument,
                   fmt::format("--dynamic={}: {} and {} contradict each other", options.dynamic, given, word),
                   {},
                   kWords};
    given = word;
  }
  const bool symmetric_data = data == "symActivation", symmetric_weight = weight != "asymWeight";
  if (options.quantize.target == "nnpa")
    return fmt::format("{{weights: int8 {} tensor, activations: {} dynamic, refine: sums}}",
                       symmetric_weight ? "sym" : "asym", symmetric_data ? "int8 sym" : "int8 asym");
  // Most runtimes do not support per-channel zero points in convolutions.
  return fmt::format("{{weights: uint8 {}, activations: {} dynamic, refine: sums}}",
                     symmetric_weight ? "sym channel" : "asym tensor",
                     symmetric_data ? "int8 sym" : "uint8 asym");
}

// The scheme of all nodes, or of those of --op-types.
Result<std::string> scheme_text(const QuantizeFlags& options) {
  if (!options.dynamic.empty()) return dynamic_scheme(options);
  if (!options.recipe.empty()) return options.recipe;
  if (options.weight_only) return std::string("w8");
  return target_recipe(options.quantize.target);
}

// Parses onnx-mlir's -maccel=NNPA -march=arch15; arch15 is the machine that has NNPA.
Result<void> read_machine(QuantizeFlags& options) {
  for (const std::string& word : options.machine) {
    if (word == "accel=NNPA") {
      options.quantize.target = "nnpa";
    } else if (word != "arch=arch15" && word != "arch=z17") {
      return Error{
          Code::invalid_argument, "unknown option -m" + word, {}, "-maccel=NNPA, -march=arch15, or --target"};
    }
  }
  return {};
}

// Rejects combinations in which one option would have no effect.
Result<void> check_together(const QuantizeFlags& options) {
  const auto refused = [](std::string what, std::string hint) {
    return Error{Code::invalid_argument, std::move(what), {}, std::move(hint)};
  };
  if (!options.dynamic.empty() && !options.recipe.empty())
    return refused("--dynamic and --recipe exclude each other",
                   "one of them; in a recipe: activations: uint8 asym dynamic");
  if (!options.dynamic.empty() && options.weight_only)
    return refused("--dynamic quantizes activations, --weight-only leaves them in float", "one of them");
  if (!options.reduce_range.empty() && options.reduce_range != "pairs" && options.reduce_range != "none")
    return refused(fmt::format("--reduce-range: unknown value '{}'", printable(options.reduce_range)),
                   "pairs or none");
  if (!is_file(options.recipe)) return {};
  if (!options.op_types.empty())
    return refused("--op-types is for presets; a recipe file has its own rules",
                   "global: float and type: {Conv: int8} in the file");
  if (options.weight_only)
    return refused("--weight-only is for presets; a recipe file has its own rules",
                   "activations: float in the file");
  if (!options.refine.empty())
    return refused("--refine is for presets; a recipe file has its own rules",
                   "refine: sum-preserving-rounding beside weights in the file");
  if (!options.reduce_range.empty())
    return refused("--reduce-range is for presets; a recipe file has its own rules",
                   "reduce_range: none beside weights in the file");
  return {};
}

// MatMul includes Gemm, which preparation fuses it to.
std::vector<std::string> op_types(const QuantizeFlags& options) {
  std::vector<std::string> types;
  for (const std::string& type : split(options.op_types)) {
    types.push_back(type);
    if (type == "MatMul") types.emplace_back("Gemm");
  }
  return types;
}

Result<Recipe> base_recipe(const QuantizeFlags& options) {
  if (options.dynamic.empty() && is_file(options.recipe)) return named_recipe(options.recipe);
  auto scheme = scheme_text(options);
  if (!scheme.ok()) return std::move(scheme).error();
  if (options.op_types.empty() && options.dynamic.empty()) return named_recipe(*scheme);
  const std::string name = options.dynamic.empty() ? *scheme : "--dynamic";
  if (options.op_types.empty()) return Recipe::from_text(fmt::format("global: {}", *scheme), name);
  auto recipe = Recipe::from_text("global: float", name);
  for (const std::string& type : op_types(options)) {
    if (recipe.ok()) recipe = recipe->with("type", type, *scheme);
  }
  return recipe;
}

// Adds a rule for all nodes, or for those of --op-types.
Result<Recipe> with_for_all(Result<Recipe> recipe, const QuantizeFlags& options, const std::string& scheme) {
  if (options.op_types.empty()) return recipe.ok() ? recipe->with("global", "", scheme) : recipe;
  for (const std::string& type : op_types(options)) {
    if (recipe.ok()) recipe = recipe->with("type", type, scheme);
  }
  return recipe;
}

// Builds the recipe from the options.
Result<Recipe> recipe_of(const QuantizeFlags& options) {
  if (auto checked = check_together(options); !checked.ok()) return std::move(checked).error();
  auto recipe = base_recipe(options);
  if (!recipe.ok()) return recipe;
  if (options.weight_only)
    recipe = with_for_all(std::move(recipe), options, "{activations: float, refine: sums}");
  if (!options.refine.empty())
    recipe = with_for_all(std::move(recipe), options, fmt::format("{{refine: [{}]}}", options.refine));
  if (!options.reduce_range.empty())
    recipe =
        with_for_all(std::move(recipe), options, fmt::format("{{reduce_range: {}}}", options.reduce_range));
  return excluding(std::move(recipe), options.exclude);
}

Result<Quantization> quantized(const Model& model, const Recipe& recipe, const QuantizeFlags& options) {
  QuantizeOptions settings = options.quantize;
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
  return quantize(model, recipe, &*samples, settings);
}

// A verdict needs few samples: a model that is broken is so on most of them.
constexpr std::int64_t kVerdictSamples = 8;

// Compares the quantized model with the original on the calibration data: outputs of the first samples for a
// verdict, or everything with --evaluate, --labels or --report.
Result<Comparison> evaluated(const Model& before, const Model& after, std::vector<std::int64_t> labels,
                             const QuantizeFlags& options, bool everything) {
  CompareOptions settings;
  settings.layers = everything;
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

ReportInput::File reported(const Model& model, const std::string& path, std::int64_t bytes,
                           const QuantizeFlags& options) {
  return {&model, path, bytes, milliseconds(model, options.samples, options.executor)};
}

// Checks the options before any work is done.
Result<void> check_quantize(const QuantizeFlags& options) {
  auto checked = check_output(options.model, options.output, options.in_place);
  std::vector<std::string> others = options.samples.paths;
  others.insert(others.end(),
                {options.model, options.output, options.ranges, options.recipe, options.labels});
  if (checked.ok()) checked = check_replaces("--report", options.report, others);
  for (const std::string& path : {options.output, options.report}) {
    if (checked.ok()) checked = check_writable(path);
  }
  if (!checked.ok()) return checked;
  const auto target = target_recipe(options.quantize.target);
  if (!target.ok()) return is_file(options.quantize.target) ? target.error() : wrong_call(target.error());
  if ((options.evaluate || !options.labels.empty()) && options.samples.paths.empty())
    return Error{Code::invalid_argument, "no data to evaluate the model on", {}, "--calib PATH"};
  return {};
}

Result<void> run(QuantizeFlags& options) {
  if (auto read = read_machine(options); !read.ok()) return read;
  if (auto checked = check_quantize(options); !checked.ok()) return checked;
  auto labels = options.labels.empty() ? std::vector<std::int64_t>() : read_labels(options.labels);
  if (!labels.ok()) return std::move(labels).error();
  auto recipe = recipe_of(options);
  if (!recipe.ok()) return std::move(recipe).error();
  auto model = load_model(options.model, options.load);
  if (!model.ok()) return std::move(model).error();
  auto result = quantized(*model, *recipe, options);
  if (!result.ok()) return in_file(std::move(result).error(), options.model);
  auto saved = result->model.save(options.output);
  if (!saved.ok()) return in_file(std::move(saved).error(), options.output);
  std::optional<Comparison> comparison;
  const bool everything = options.evaluate || !options.labels.empty() || !options.report.empty();
  if (!options.samples.paths.empty()) {
    auto compared = evaluated(*model, result->model, *std::move(labels), options, everything);
    if (!compared.ok() && everything) {  // the model is written: print its summary all the same
      if (!options.json) fmt::print("{}", quantization_text(result->report, options.output, options.verbose));
      return std::move(compared).error().within("the model is written, but not compared");
    }
    if (!compared.ok()) compared = uncompared(compared.error());
    comparison = std::move(compared).value();
  }
  const ComparedFiles files = compared_files(options.model, options.output);
  if (!options.report.empty()) {
    ReportInput input{.command = "quantize",
                      .before = reported(*model, options.model, files.reference_bytes, options),
                      .after = reported(result->model, options.output, files.other_bytes, options),
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
    fmt::print("\n{}", verdict_text(comparison->verdict,
                                    {options.model, options.output, options.samples, options.recipe}));
  if (!options.report.empty()) fmt::print("\nReport  {}\n", options.report);
  return {};
}

std::function<Result<void>()> set_up_quantize(CLI::App& app) {
  auto options = std::make_shared<QuantizeFlags>();
  app.add_option("MODEL", options->model, "The float32 ONNX file")->required();
  app.add_option("-o,--output", options->output, "Where to write the quantized file")->required();
  app.add_option("-r,--recipe", options->recipe, "A preset (int8, w8, w4, dynamic-int8, …) or a file [int8]");
  add_sample_options(app, "--calib,--data", options->samples);
  app.add_option("--ranges", options->ranges, "Ranges from `anybit calibrate`, instead of calibration data");
  app.add_flag("--dynamic,--nnpa-quant-dynamic", options->dynamic,
               "Quantize activations at run time: "
               "--dynamic=symActivation|asymActivation,symWeight|asymWeight");
  app.add_flag("--weight-only", options->weight_only,
               "Leave activations in float (recipe w8 unless one is given)");
  std::string refinements = "Refinements of the quantized model, comma-separated: none";
  for (const RefinementInfo& one : refinement_list()) {
    refinements += fmt::format("; {} or {}: {}", one.name, one.alias, one.summary);
    for (const FormatParameter& parameter : one.parameters)
      refinements += fmt::format(", {}:{}={} ({})", one.alias, parameter.name, value_text(parameter.preset),
                                 parameter.doc);
  }
  app.add_option("--refine", options->refine, refinements);
  app.add_option("--reduce-range", options->reduce_range,
                 "pairs or on: limit int8 weights so that 16-bit sums of pairs cannot saturate in ONNX "
                 "Runtime on CPUs without VNNI; none: the full range [pairs if the target may saturate]")
      ->transform([](const std::string& value) { return value == "on" ? "pairs" : value; });
  app.add_option("--op-types,--nnpa-quant-op-types", options->op_types,
                 "Quantize only these operators, comma-separated: MatMul (includes Gemm), Conv, …")
      ->allow_extra_args(false);
  add_exclude_option(app, options->exclude);
  app.add_option("--emit", options->quantize.emit,
                 "portable (formats that ONNX lacks are model functions), packed (they are operators of "
                 "anybit), qdq (only types of ONNX), qoperator (QLinearConv, …) [portable]");
  app.add_option("--target", options->quantize.target,
                 "The hardware or runtime: generic, ort, nnpa, ethos-u55-128, …; or a file [generic]");
  app.add_option("-m", options->machine, "-maccel=NNPA is --target nnpa")->allow_extra_args(false)->group("");
  app.add_flag("--no-prepare", options->no_prepare, "Do not prepare the graph: fold nothing");
  app.add_flag("--requantize", options->quantize.requantize, "Accept a model that is quantized already");
  app.add_flag("--allow-nan", options->quantize.allow_nan,
               "Count NaN and infinity in activations and continue");
  app.add_flag("--reproducible", options->quantize.reproducible,
               "Identical file on every x86-64 CPU, with slower float kernels during calibration");
  app.add_flag("--evaluate", options->evaluate,
               "Also measure the error: SQNR of every layer, agreement of the top-1 class");
  app.add_option("--labels", options->labels,
                 "The correct classes of the samples; implies --evaluate, with top-1 and top-5");
  add_in_place_flag(app, options->in_place);
  add_executor_options(app, options->executor);
  app.add_option("--seed", options->seed, "Seed of random choices; no recipe makes any today")
      ->transform(parse_integer(0, UINT64_MAX));
  app.add_flag("--json", options->json, "Print the report as JSON");
  app.add_flag("-v,--verbose", options->verbose, "Show the outcome of every node and its reason");
  add_report_option(app, options->report);
  add_load_options(app, options->load);
  return [options] {
    options->quantize.histograms = !options->report.empty();
    options->quantize.prepare = !options->no_prepare;
    options->quantize.threads = options->executor.threads;
    options->quantize.max_memory = options->executor.max_memory;
    return run(*options);
  };
}

}  // namespace

Command quantize_command() { return {"Quantize a model according to a recipe", set_up_quantize}; }

}  // namespace anybit::cli
