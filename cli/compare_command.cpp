// anybit compare FLOAT QUANTIZED: measures the quantization error, per output and per layer.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "anybit/compare.hpp"
#include "command.hpp"
#include "comparison_text.hpp"
#include "labels.hpp"
#include "numbers.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "report_file.hpp"
#include "sample_options.hpp"
#include "sweep_text.hpp"
#include "text_file.hpp"
#include "verdict_text.hpp"

namespace anybit::cli {
namespace {

struct CompareFlags {
  std::string reference, other, labels, report;
  std::vector<std::string> others;  // the quantized models; `other` is the first
  LoadOptions load;
  ExecutorOptions executor;
  SampleArguments samples;
  std::int64_t rows = 10;
  bool json = false, no_layers = false;
};

Result<Comparison> compared(const Model& reference, const Model& other, const SampleArguments& from,
                            CompareOptions& settings) {
  if (from.paths.empty())
    return Error{Code::invalid_argument, "no data to compare the models on", {}, "--data PATH"};
  auto samples = open_samples(reference, from);
  if (!samples.ok()) return std::move(samples).error();
  Progress progress("comparing", "samples", samples->count());
  settings.progress = [&](std::int64_t done) { progress.show(done); };
  return compare(reference, other, *samples, settings);
}

// Ranges of the intermediate tensors, for the report's histograms.
Result<Ranges> ranges_of(const Model& model, const CompareFlags& options) {
  auto samples = open_samples(model, options.samples);
  if (!samples.ok()) return std::move(samples).error();
  Progress progress("collecting histograms", "samples", samples->count());
  CalibrateOptions settings{
      .threads = options.executor.threads, .max_memory = options.executor.max_memory, .allow_nan = true};
  settings.progress = [&](std::int64_t done) { progress.show(done); };
  return calibrate_model(model, *samples, settings);
}

Result<void> report(const Model& reference, const Model& other, const Comparison& comparison,
                    const ComparedFiles& files, const CompareFlags& options) {
  auto ranges = ranges_of(reference, options);
  if (!ranges.ok()) return std::move(ranges).error();
  return write_report(
      options.report,
      {.command = "compare",
       .before =
           reported(reference, options.reference, files.reference_bytes, options.samples, options.executor),
       .after = reported(other, options.other, files.other_bytes, options.samples, options.executor),
       .comparison = &comparison,
       .ranges = &*ranges,
       .range = {}});
}

// More than one quantized model: one table, as of a sweep. The float model runs once.
Result<void> compare_many(const Model& reference, const CompareFlags& options, CompareOptions settings) {
  settings.layers = false;
  settings.shared = ReferenceOutputs();
  Sweep sweep;
  sweep.bytes = compared_files(options.reference, options.reference).reference_bytes;
  for (const std::string& path : options.others) {
    auto other = load_model(path, options.load);
    if (!other.ok()) return std::move(other).error();
    auto result = compared(reference, *other, options.samples, settings);
    if (!result.ok()) return in_file(std::move(result).error(), path);
    SweepRow& row = sweep.rows.emplace_back();
    row.recipe = path;
    row.bytes = compared_files(options.reference, path).other_bytes;
    row.comparison = *std::move(result);
    const auto& parts = row.comparison.verdict.parts;
    if (!parts.empty()) row.sqnr = parts[0].part.sqnr;
  }
  if (!options.report.empty()) {
    ReportInput input;
    input.command = "sweep";
    input.before = {&reference, options.reference, sweep.bytes};
    input.sweep = &sweep;
    if (auto written = write_report(options.report, input); !written.ok()) return written;
  }
  fmt::print("{}", options.json ? sweep_json(sweep, options.reference)
                                : sweep_text(sweep, "model", options.reference));
  return {};
}

Result<void> run(CompareFlags& options) {
  options.other = options.others.front();
  std::vector<std::string> others = options.samples.paths;
  others.insert(others.end(), options.others.begin(), options.others.end());
  others.insert(others.end(), {options.reference, options.labels});
  if (auto checked = check_replaces("--report", options.report, others); !checked.ok()) return checked;
  if (auto checked = check_writable(options.report); !checked.ok()) return checked;
  auto reference = load_model(options.reference, options.load);
  if (!reference.ok()) return std::move(reference).error();
  CompareOptions settings;
  settings.threads = options.executor.threads;
  settings.max_memory = options.executor.max_memory;
  settings.layers = !options.no_layers;
  if (!options.labels.empty()) {
    auto labels = read_labels(options.labels);
    if (!labels.ok()) return std::move(labels).error();
    settings.labels = std::move(labels).value();
    settings.spare_labels = options.samples.options.limit > 0;
  }
  if (options.others.size() > 1) return compare_many(*reference, options, std::move(settings));
  auto other = load_model(options.other, options.load);
  if (!other.ok()) return std::move(other).error();
  auto result = compared(*reference, *other, options.samples, settings);
  if (!result.ok()) return std::move(result).error();
  const ComparedFiles files = compared_files(options.reference, options.other);
  if (!options.report.empty()) {
    if (auto written = report(*reference, *other, *result, files, options); !written.ok()) return written;
  }
  if (options.json) {
    fmt::print("{}", comparison_json(*result, files, options.samples));
    return {};
  }
  fmt::print("{}\n{}", comparison_text(*result, files, options.rows),
             verdict_text(result->verdict, {options.reference, options.other, options.samples}));
  return {};
}

std::function<Result<void>()> set_up_compare(CLI::App& app) {
  auto options = std::make_shared<CompareFlags>();
  app.add_option("FLOAT", options->reference, "The reference model")->required();
  app.add_option("QUANTIZED", options->others, "The quantized model; several make one table, without layers")
      ->required();
  add_sample_options(app, "--data", options->samples);
  app.add_option("--labels", options->labels,
                 "The correct classes, one per sample: .npy, or text with one per line");
  app.add_option("--rows", options->rows, "How many layers to show, lowest SQNR first [10]")
      ->transform(parse_integer(0));
  app.add_flag("--no-layers", options->no_layers, "Compare the outputs only, which is faster");
  add_executor_options(app, options->executor);
  app.add_flag("--json", options->json, "Print everything as JSON");
  add_report_option(app, options->report);
  add_load_options(app, options->load);
  return [options] { return run(*options); };
}

}  // namespace

Command compare_command() { return {"Compare two models on the same samples", set_up_compare}; }

}  // namespace anybit::cli
