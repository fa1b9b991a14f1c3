// anybit bench MODEL…: measures latency, throughput and memory of models on this machine.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "anybit/executor.hpp"
#include "anybit/samples.hpp"
#include "command.hpp"
#include "model_inputs.hpp"
#include "numbers.hpp"
#include "options.hpp"
#include "table.hpp"
#include "terminal.hpp"

namespace anybit::cli {
namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::ordered_json;

struct BenchFlags {
  std::vector<std::string> models;
  LoadOptions load;
  ExecutorOptions executor;
  InputOptions inputs;
  double seconds = 3;
  bool json = false;
};

struct Timing {
  std::string model;
  double load = 0, first = 0;  // milliseconds
  std::vector<double> runs;    // sorted
  double total = 0;            // milliseconds of all runs
  std::int64_t peak = 0;       // bytes

  double percentile(double p) const {
    return runs[std::min(runs.size() - 1, static_cast<std::size_t>(p * static_cast<double>(runs.size())))];
  }
};

double since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

Result<Timing> measure(const std::string& path, const BenchFlags& options) {
  Timing timing{.model = path, .runs = {}};
  const auto begin = Clock::now();
  auto model = load_model(path, options.load);
  if (!model.ok()) return std::move(model).error();
  auto executor = Executor::make(*model, options.executor);
  if (!executor.ok()) return in_file(std::move(executor).error(), path);
  timing.load = since(begin);
  auto inputs = only_inputs(executor->inputs(), options.inputs);
  if (!inputs.ok()) return in_file(std::move(inputs).error(), path);
  const auto all = Clock::now();
  for (bool first = true; first || timing.runs.size() < 3 || since(all) < options.seconds * 1e3;
       first = false) {
    const auto one = Clock::now();
    auto outputs = executor->run(inputs->values);
    if (!outputs.ok()) return in_file(of_run(std::move(outputs).error(), *inputs), path);
    const double time = since(one);
    if (first) {
      timing.first = time;
    } else {
      timing.runs.push_back(time);
      timing.total += time;
    }
  }
  std::ranges::sort(timing.runs);
  timing.peak = executor->peak_memory();
  return timing;
}

std::string text_of(const std::vector<Timing>& timings) {
  using Align = Table::Align;
  Table table({{"model"},
               {"runs", Align::right},
               {"load ms", Align::right},
               {"first ms", Align::right},
               {"best", Align::right},
               {"p50", Align::right},
               {"p90", Align::right},
               {"p99 ms", Align::right},
               {"runs/s", Align::right},
               {"memory", Align::right}});
  const auto ms = [](double value) { return fmt::format("{:.3f}", value); };
  for (const Timing& t : timings) {
    table.add({shortened(printable(std::filesystem::path(t.model).filename().string()), 48),
               fmt::format("{}", t.runs.size()), fmt::format("{:.1f}", t.load), ms(t.first), ms(t.runs[0]),
               ms(t.percentile(0.5)), ms(t.percentile(0.9)), ms(t.percentile(0.99)),
               fmt::format("{:.1f}", 1e3 * static_cast<double>(t.runs.size()) / t.total),
               short_bytes(t.peak)});
  }
  return table.text(0);
}

std::string json_of(const std::vector<Timing>& timings) {
  Json list = Json::array();
  for (const Timing& t : timings) {
    list.push_back({{"model", t.model},
                    {"runs", t.runs.size()},
                    {"load_ms", t.load},
                    {"first_ms", t.first},
                    {"best_ms", t.runs[0]},
                    {"p50_ms", t.percentile(0.5)},
                    {"p90_ms", t.percentile(0.9)},
                    {"p99_ms", t.percentile(0.99)},
                    {"runs_per_second", 1e3 * static_cast<double>(t.runs.size()) / t.total},
                    {"peak_bytes", t.peak}});
  }
  return list.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// With several models, checks before any measurement that each --dim matches at least one of them.
Result<void> check_dims_of_all(const BenchFlags& options) {
  if (options.inputs.dims.empty()) return {};
  std::vector<Port> all;
  for (const std::string& path : options.models) {
    auto model = load_model(path, options.load);
    if (!model.ok()) return std::move(model).error();
    auto ports = inputs_of(*model);
    if (!ports.ok()) return in_file(std::move(ports).error(), path);
    all.insert(all.end(), ports->begin(), ports->end());
  }
  return check_dims(all, options.inputs);
}

Result<void> run(BenchFlags& options) {
  options.inputs.for_several = options.models.size() > 1;
  if (options.inputs.for_several) {
    if (auto checked = check_dims_of_all(options); !checked.ok()) return checked;
  }
  std::vector<Timing> timings;
  for (const std::string& path : options.models) {
    auto timing = measure(path, options);
    if (!timing.ok()) return std::move(timing).error();
    timings.push_back(std::move(timing).value());
  }
  fmt::print("{}", options.json ? json_of(timings) : text_of(timings));
  return {};
}

std::function<Result<void>()> set_up_bench(CLI::App& app) {
  auto options = std::make_shared<BenchFlags>();
  app.add_option("MODEL", options->models, "ONNX files")->required();
  add_input_options(app, options->inputs);
  app.add_option("--seconds", options->seconds, "Seconds to run each model")
      ->check(number_within(0, 3600))
      ->capture_default_str();
  add_executor_options(app, options->executor);
  app.add_flag("--json", options->json, "Print everything as JSON");
  add_load_options(app, options->load);
  return [options] { return run(*options); };
}

}  // namespace

Command bench_command() { return {"Measure how fast models run: latency, throughput, memory", set_up_bench}; }

}  // namespace anybit::cli
