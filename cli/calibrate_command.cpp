// anybit calibrate MODEL --data PATH…: writes the statistics of every tensor for quantization.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "anybit/calibrate.hpp"
#include "command.hpp"
#include "json_members.hpp"
#include "numbers.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "report_file.hpp"
#include "sample_options.hpp"
#include "spelling.hpp"
#include "table.hpp"
#include "terminal.hpp"
#include "text_file.hpp"

namespace anybit::cli {
namespace {

using Json = nlohmann::ordered_json;

struct CalibrateFlags {
  std::string model, output, report;
  std::vector<std::string> merge, collect;
  LoadOptions load;
  ExecutorOptions executor;
  SampleArguments samples;
  RangeOptions range;
  bool observer_given = false, percentile_given = false;
  CalibrateOptions calibrate;
  bool list = false, json = false;
};

Error wrong_calibrate_call(std::string message, std::string hint) {
  return {Code::invalid_argument, std::move(message), {}, std::move(hint)};
}

Result<bool> needs_bins(const CalibrateFlags& options) {
  if (!options.observer_given) return true;  // the file must serve any observer later
  std::vector<std::string> names;
  for (const Observer& one : observers()) {
    if (one.name == options.range.observer) return one.needs_bins || !options.report.empty();
    names.push_back(one.name);
  }
  std::string hint = did_you_mean(options.range.observer, names);
  if (hint.empty()) hint = fmt::format("observers are {}", fmt::join(names, ", "));
  return wrong_calibrate_call(fmt::format("there is no observer '{}'", printable(options.range.observer)),
                              hint);
}

Result<void> check_collectors(const CalibrateFlags& options) {
  std::vector<std::string> names;
  for (const CollectorInfo& one : collectors()) names.push_back(one.name);
  for (const std::string& name : options.collect) {
    if (std::ranges::count(names, name) > 0) continue;
    const std::string meant = did_you_mean(name, names);
    return wrong_calibrate_call(
        fmt::format("--collect: there is no collector '{}'", printable(name)),
        meant.empty() ? fmt::format("collectors are {}", fmt::join(names, ", ")) : meant);
  }
  return {};
}

Result<Ranges> gathered(CalibrateFlags& options, std::optional<Model>& model) {
  auto bins = needs_bins(options);
  if (!bins.ok()) return std::move(bins).error();
  if (options.samples.paths.empty()) return wrong_calibrate_call("there are no samples", "--data PATH");
  auto loaded = load_model(options.model, options.load);
  if (!loaded.ok()) return std::move(loaded).error();
  model = std::move(loaded).value();
  auto samples = open_samples(*model, options.samples);
  if (!samples.ok()) return std::move(samples).error();
  options.calibrate.bins = *bins;
  options.calibrate.collect = options.collect;
  options.calibrate.threads = options.executor.threads;
  options.calibrate.max_memory = options.executor.max_memory;
  auto ranges = [&] {
    Progress progress("calibrating", "samples", samples->count());
    options.calibrate.progress = [&](std::int64_t done) { progress.show(done); };
    return calibrate_model(*model, *samples, options.calibrate);
  }();
  if (ranges.ok()) print_remarks(*samples);
  return ranges;
}

Result<Ranges> merged(const CalibrateFlags& options) {
  auto all = Ranges::load(options.merge[0]);
  for (std::size_t i = 1; all.ok() && i < options.merge.size(); ++i) {
    const auto next = Ranges::load(options.merge[i]);
    if (!next.ok()) return next.error();
    all = all->merged(*next);
    if (!all.ok()) return in_file(std::move(all).error(), options.merge[i]);
  }
  return all;
}

std::string number(float value) { return fmt::format("{:.6g}", value); }

// "channel-maxima of 3 values, second-moment of 4"
std::string counted(const std::vector<Ranges::Collected>& all) {
  std::map<std::string, int> counts;
  for (const Ranges::Collected& one : all) ++counts[one.collector];
  std::string text;
  for (const auto& [name, count] : counts)
    text += fmt::format("{}{} of {}{}", text.empty() ? "" : ", ", name, count, text.empty() ? " values" : "");
  return text;
}

Result<std::string> text_of(const Ranges& ranges, const CalibrateFlags& options) {
  std::string text = fmt::format("Samples {}\nValues  {}\n", ranges.samples(), ranges.tensors().size());
  std::int64_t bad = 0, unseen = 0;
  Table table({{"Value"},
               {"Low", Table::Align::right},
               {"High", Table::Align::right},
               {"Elements", Table::Align::right},
               {""}});
  for (const Ranges::Tensor& one : ranges.tensors()) {
    bad += one.first_bad.empty() ? 0 : 1;
    unseen += one.samples == 0 ? 1 : 0;
    const auto range = ranges.range(one.name, options.range);
    if (!range.ok()) return range.error();
    const std::string note = one.samples == 0        ? "no sample reached it"
                             : one.first_bad.empty() ? ""
                                                     : fmt::format("{} NaN, {} infinite, first in {}",
                                                                   one.nans, one.infinities, one.first_bad);
    const bool shown = options.list || !one.first_bad.empty() || one.samples == 0;
    if (shown)
      table.add({shortened(printable(one.name), 48), one.count ? number(range->low) : "",
                 one.count ? number(range->high) : "", short_count(one.count), note});
  }
  if (bad > 0) text += styled(fmt::format("{} values have NaN or infinity\n", bad), Style::yellow);
  if (unseen > 0) text += fmt::format("{} values were not reached by any sample\n", unseen);
  if (!table.empty()) text += table.text(0);
  const auto collected = ranges.collected();
  if (!collected.ok()) return collected.error();
  if (!collected->empty()) text += fmt::format("Collected {}\n", counted(*collected));
  if (!options.output.empty()) text += fmt::format("Written {}\n", options.output);
  return text;
}

Result<std::string> json_of(const Ranges& ranges, const CalibrateFlags& options) {
  Json json = {{"samples", ranges.samples()},
               {"model", ranges.model_hash()},
               {"observer", options.range.observer},
               {"written", options.output}};
  Json tensors = Json::object();
  for (const Ranges::Tensor& one : ranges.tensors()) {
    const auto range = ranges.range(one.name, options.range);
    if (!range.ok()) return range.error();
    Json& tensor = add_member(tensors, one.name,
                              {{"samples", one.samples},
                               {"count", one.count},
                               {"zeros", one.zeros},
                               {"nans", one.nans},
                               {"infinities", one.infinities}});
    if (!one.first_bad.empty()) tensor["first_bad"] = one.first_bad;
    if (one.count == 0) continue;
    tensor["min"] = one.min;
    tensor["max"] = one.max;
    tensor["low"] = range->low;
    tensor["high"] = range->high;
  }
  json["tensors"] = std::move(tensors);
  const auto collected = ranges.collected();
  if (!collected.ok()) return collected.error();
  for (const Ranges::Collected& one : *collected)
    json["collected"].push_back({{"tensor", one.tensor}, {"collector", one.collector}, {"view", one.view}});
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<void> check_calibrate(const CalibrateFlags& options) {
  if (options.merge.empty() && options.model.empty())
    return wrong_calibrate_call("no model is given", "MODEL, or --merge A B");
  if (!options.merge.empty() && !options.model.empty())
    return wrong_calibrate_call("ranges are merged without a model", "leave MODEL out");
  if (!options.merge.empty() && !options.samples.paths.empty())
    return wrong_calibrate_call("ranges are merged without samples",
                                "leave --data out, or calibrate on it first");
  if (auto known = check_collectors(options); !known.ok()) return known;
  std::error_code ignored;
  for (std::size_t i = 0; i < options.merge.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (std::filesystem::equivalent(options.merge[i], options.merge[k], ignored))
        return wrong_calibrate_call(fmt::format("--merge: '{}' is given twice", printable(options.merge[i])),
                                    "give each file once: its samples would count twice");
    }
  }
  if (options.percentile_given && options.range.observer != "percentile")
    return wrong_calibrate_call(
        fmt::format("--percentile is for the observer percentile, not {}", printable(options.range.observer)),
        "--observer percentile");
  if (!options.model.empty() && std::filesystem::equivalent(options.model, options.output, ignored))
    return wrong_calibrate_call("the ranges would overwrite the model", "another name for --output");
  std::vector<std::string> others = options.samples.paths;
  others.insert(others.end(), {options.model, options.output});
  others.insert(others.end(), options.merge.begin(), options.merge.end());
  auto checked = check_replaces("--report", options.report, others);
  for (const std::string& path : {options.output, options.report}) {
    if (checked.ok()) checked = check_writable(path);
  }
  return checked;
}

Result<void> run(CalibrateFlags& options) {
  auto checked = check_calibrate(options);
  if (!checked.ok()) return checked;
  std::optional<Model> model;
  auto ranges = options.merge.empty() ? gathered(options, model) : merged(options);
  if (!ranges.ok()) return std::move(ranges).error();
  auto saved = ranges->save(options.output);
  if (!saved.ok()) return in_file(std::move(saved).error(), options.output);
  if (!options.report.empty()) {
    const ReportInput input{.command = "calibrate",
                            .before = {model ? &*model : nullptr, options.model},
                            .after = {},
                            .ranges = &*ranges,
                            .range = options.range};
    if (auto written = write_report(options.report, input); !written.ok()) return written;
  }
  auto text = options.json ? json_of(*ranges, options) : text_of(*ranges, options);
  if (!text.ok()) return std::move(text).error();
  fmt::print("{}", *text);
  return {};
}

std::function<Result<void>()> set_up_calibrate(CLI::App& app) {
  auto options = std::make_shared<CalibrateFlags>();
  app.add_option("MODEL", options->model, "The ONNX file");
  app.add_option("-o,--output", options->output, "Where to write the ranges")->required();
  CLI::Option* merge =
      app.add_option("--merge", options->merge,
                     "Merge these range files, which are calibrated separately on the same model")
          ->type_name("RANGES...");
  add_sample_options(app, "--data,--calib", options->samples);
  CLI::Option* observer = app.add_option("--observer", options->range.observer,
                                         "How ranges are chosen: minmax, moving_average, percentile, "
                                         "entropy, mse. The file holds histograms, "
                                         "unless this names an observer that needs none")
                              ->capture_default_str();
  CLI::Option* percentile =
      app.add_option("--percentile", options->range.percentile,
                     "Percentage of values inside the range, for the observer percentile")
          ->check(number_within(0, 100))
          ->capture_default_str();
  app.add_option("--momentum", options->calibrate.momentum, "Momentum of moving averages")
      ->excludes(merge)
      ->check(number_within(0, 1))
      ->capture_default_str();
  std::string about = "Additional statistics of the inputs of layers with constant weights, comma-separated";
  for (const CollectorInfo& one : collectors()) {
    if (one.of_layers) about += fmt::format("; {}: {}", one.name, one.summary);
  }
  app.add_option("--collect", options->collect, about)->delimiter(',')->excludes(merge);
  app.add_flag("--allow-nan", options->calibrate.allow_nan,
               "Count NaN and infinity and ignore them; by default they are an error")
      ->excludes(merge);
  app.add_flag("--reproducible", options->calibrate.reproducible,
               "Identical ranges on every x86-64 CPU, with slower float kernels")
      ->excludes(merge);
  add_executor_options(app, options->executor);
  app.add_flag("--list", options->list, "Show the range of every value");
  app.add_flag("--json", options->json, "Print everything as JSON");
  add_report_option(app, options->report);
  add_load_options(app, options->load);
  return [options, observer, percentile] {
    options->percentile_given = percentile->count() > 0;
    options->observer_given = observer->count() > 0;
    return run(*options);
  };
}

}  // namespace

Command calibrate_command() {
  return {"Run a model on calibration data and write the range of every tensor", set_up_calibrate};
}

}  // namespace anybit::cli
