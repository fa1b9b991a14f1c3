#include "auto_recipe.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "anybit/compare.hpp"
#include "anybit/sensitivity.hpp"
#include "anybit/write_file.hpp"
#include "numbers.hpp"
#include "options.hpp"
#include "progress.hpp"

namespace anybit::cli {
namespace {

constexpr const char* kWider = "{weights: int8 sym channel, activations: int16 sym}";
constexpr std::int64_t kMeasured = 8;  // samples

// A number of a model, where more is better.
using Measure = std::function<Result<double>(const Model& model)>;

// The top-1 accuracy on the samples, in percent.
Measure accuracy(const AutoTask& task) {
  CompareOptions settings;
  settings.layers = false;
  settings.shared.emplace();
  settings.threads = task.quantize.threads;
  settings.max_memory = task.quantize.max_memory;
  settings.labels = task.labels;
  settings.spare_labels = task.samples.options.limit > 0;
  return [&task, settings](const Model& model) -> Result<double> {
    auto samples = open_samples(task.model, task.samples);
    if (!samples.ok()) return std::move(samples).error();
    auto compared = compare(task.model, model, *samples, settings);
    if (!compared.ok()) return std::move(compared).error();
    if (compared->rows == 0)
      return Error{
          Code::invalid_argument, "--max-drop: the first output has no class scores", {}, "--metric"};
    const double rows = static_cast<double>(compared->rows);
    return 100 * static_cast<double>(compared->other_top1) / rows;
  };
}

// In single quotes for the shell.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char one : text) result += one == '\'' ? std::string("'\\''") : std::string(1, one);
  return result + "'";
}

// The last number that a command prints.
Result<double> number_from(const std::string& command) {
  const auto failed = [&](std::string what) {
    return Error{Code::invalid_argument,
                 fmt::format("--metric: {}", what),
                 {},
                 "a command that takes the path of a model, and prints a number"};
  };
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (!pipe) return failed("the command cannot be started");
  std::string text;
  char buffer[4096];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof(buffer), pipe)) > 0;) text.append(buffer, n);
  const int status = ::pclose(pipe);
  if (status != 0) return failed(fmt::format("the command fails with status {}", WEXITSTATUS(status)));
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.pop_back();
  const std::string last = text.substr(text.find_last_of(" \t\n") + 1);
  char* end = nullptr;
  const double value = std::strtod(last.c_str(), &end);
  if (last.empty() || *end != '\0' || !std::isfinite(value))
    return failed(fmt::format("'{}' is not a number", last.substr(0, 60)));
  return value;
}

Measure metric_of_command(const AutoTask& task) {
  return [&task](const Model& model) -> Result<double> {
    const std::string path = task.output + ".trial.onnx";
    if (auto saved = model.save(path); !saved.ok()) return std::move(saved).error();
    auto value = number_from(task.flags.metric + " " + quoted(path));
    ::unlink(path.c_str());
    return value;
  };
}

// The rules that --auto adds, as YAML behind the text of the preset.
Result<void> write_recipe(const Sensitivity& found, const std::string& path) {
  std::string text = fmt::format("# {}, with the layers that --auto promotes.\n", found.recipe);
  for (const RecipeInfo& preset : recipe_presets()) {
    if (preset.name == found.recipe) text += preset.text + "\n";
  }
  if (!found.exclude.empty()) text += "name:\n";
  for (const std::string& node : found.exclude) text += fmt::format("  \"{}\": {}\n", node, found.exclude_as);
  return write_file(path, text);
}

// How good a model is, in the words of the bound.
std::string words_of(const AutoFlags& flags, const Effect& effect, double metric) {
  if (!flags.max_drop) return fmt::format("{:.1f} dB", effect.sqnr);
  return flags.metric.empty() ? fmt::format("{:.2f} %", metric) : fmt::format("{:g}", metric);
}

void print(const AutoTask& task, const Sensitivity& found, const std::string& bound) {
  const std::string now = words_of(task.flags, found.excluded, found.metric);
  if (found.exclude.empty()) {
    fmt::print("Auto    nothing is promoted: {} keeps {}\n",
               task.flags.max_drop ? now : words_of(task.flags, found.all, 0), bound);
    return;
  }
  fmt::print("Auto    {:.1f} dB, then {}: {} layers as {}\n", found.all.sqnr, now, found.exclude.size(),
             found.exclude_as);
  for (const std::string& node : found.exclude) fmt::print("        {}\n", node);
}

}  // namespace

void add_auto_options(CLI::App& app, AutoFlags& flags) {
  app.add_flag("--auto", flags.automatic,
               "Promote the layers that hurt most, to 16-bit activations or float, until the bound holds");
  auto* snr =
      app.add_option(
             "--min-snr", flags.min_snr,
             "With --auto: the bound, in dB of the outputs that suffer most; default: a verdict of ok")
          ->check(number_within(0, 200));
  app.add_option(
         "--max-drop", flags.max_drop,
         "With --auto: the bound, by which the top-1 accuracy on --labels may drop, in points; or the "
         "number of --metric")
      ->check(number_within(0, 1e9))
      ->excludes(snr);
  app.add_option("--metric", flags.metric,
                 "With --max-drop: a command that prints a number for a model, where more is better. It gets "
                 "the path of the model as its last argument");
  app.add_option("--recipe-out", flags.recipe_output, "With --auto: where to write the recipe");
}

Result<void> check_auto(const AutoFlags& flags, bool has_samples, bool has_labels) {
  if (flags.automatic && !has_samples)
    return Error{Code::invalid_argument, "--auto needs data to measure the model on", {}, "--calib PATH"};
  if (!flags.automatic && (flags.min_snr > 0 || !flags.recipe_output.empty()))
    return Error{Code::invalid_argument, "--min-snr and --recipe-out belong to --auto", {}, "--auto"};
  if (!flags.automatic && (flags.max_drop || !flags.metric.empty()))
    return Error{Code::invalid_argument, "--max-drop and --metric belong to --auto", {}, "--auto"};
  if (flags.max_drop && flags.metric.empty() && !has_labels)
    return Error{Code::invalid_argument,
                 "--max-drop has nothing to measure",
                 {},
                 "--labels FILE, or --metric COMMAND"};
  if (!flags.metric.empty() && !flags.max_drop)
    return Error{Code::invalid_argument, "--metric has no bound", {}, "--max-drop NUMBER"};
  return {};
}

Result<Recipe> promoted(const AutoTask& task, Recipe recipe) {
  const AutoFlags& flags = task.flags;
  SensitivityOptions settings;
  settings.target = task.quantize.target;
  settings.threads = task.quantize.threads;
  settings.max_memory = task.quantize.max_memory;
  settings.allow_nan = task.quantize.allow_nan;
  settings.min_sqnr = flags.min_snr;
  settings.samples = kMeasured;
  settings.promotions = {kWider, "float"};
  std::string bound = flags.min_snr > 0 ? fmt::format("{:g} dB", flags.min_snr) : "a verdict of ok";
  if (flags.max_drop) {
    settings.metric = flags.metric.empty() ? accuracy(task) : metric_of_command(task);
    auto value = settings.metric(task.model);
    if (!value.ok()) return std::move(value).error();
    settings.min_metric = *value - *flags.max_drop;
    bound = flags.metric.empty() ? fmt::format("{:.2f} %", settings.min_metric)
                                 : fmt::format("{:g}", settings.min_metric);
  }
  auto samples = open_samples(task.model, task.samples);
  if (!samples.ok()) return std::move(samples).error();
  Progress progress("measuring", "layers", std::nullopt);
  settings.progress = [&](std::int64_t done, std::int64_t) { progress.show(done); };
  auto found = sensitivity(task.model, recipe, *samples, settings);
  if (!found.ok()) return std::move(found).error();
  if (!found->reached)
    return Error{Code::not_found,
                 fmt::format("--auto: {} cannot be reached; the best is {}, with {} layers as {}", bound,
                             words_of(flags, found->excluded, found->metric), found->exclude.size(),
                             found->exclude_as),
                 {},
                 "a lower bound, or a recipe with more bits"};
  for (const std::string& node : found->exclude) {
    auto next = recipe.with("name", node, found->exclude_as);
    if (!next.ok()) return std::move(next).error();
    recipe = std::move(next).value();
  }
  if (!flags.recipe_output.empty()) {
    if (auto written = write_recipe(*found, flags.recipe_output); !written.ok())
      return std::move(written).error();
  }
  if (!task.quiet) print(task, *found, bound);
  return recipe;
}

}  // namespace anybit::cli
