#include "report_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "anybit/profile.hpp"
#include "anybit/write_file.hpp"

namespace anybit::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLongest = 300;      // milliseconds of timed runs, after a first one
constexpr std::size_t kProfiled = 3;  // runs with the times of nodes

Result<Sample> first_sample(const Executor& executor, const Model& model, const SampleArguments& arguments) {
  if (!arguments.paths.empty()) {
    auto samples = open_samples(model, arguments);
    if (!samples.ok()) return std::move(samples).error();
    auto sample = samples->next();
    if (!sample.ok()) return std::move(sample).error();
    if (*sample) return **std::move(sample);
  }
  Sample made;
  for (const Port& port : executor.inputs()) {
    if (!port.required) continue;
    // Only the batch size may be unknown: unknown sizes become 1, and the time of one pixel is meaningless.
    if (!port.has_rank ||
        std::find(port.dims.begin() + (port.dims.empty() ? 0 : 1), port.dims.end(), -1) != port.dims.end())
      return Error{Code::invalid_argument, fmt::format("the size of '{}' is not known", port.name), {}, {}};
    auto value = random_value(port, {}, 0);
    if (!value.ok()) return std::move(value).error();
    made.emplace(port.name, std::move(value).value());
  }
  return made;
}

double since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// The best of several runs; negative if one fails.
double best_run(const Executor& executor, const Sample& sample) {
  double best = -1;
  const auto begin = Clock::now();
  do {
    const auto one = Clock::now();
    if (!executor.run(sample).ok()) return -1;
    best = best < 0 ? since(one) : std::min(best, since(one));
  } while (since(begin) < kLongest);
  return best;
}

std::vector<RunProfile::Entry> node_times(const Executor& executor, const Sample& sample) {
  std::vector<RunProfile> runs;
  const auto begin = Clock::now();
  while (runs.size() < kProfiled && (runs.empty() || since(begin) < kLongest)) {
    if (!executor.run(sample, &runs.emplace_back()).ok()) return {};
  }
  return best_times(runs);
}

}  // namespace

void add_report_option(CLI::App& app, std::string& path) {
  app.add_option("--report", path, "Write a report of the results: one HTML file")->type_name("FILE");
}

ReportInput::File reported(const Model& model, const std::string& path, std::int64_t bytes,
                           const SampleArguments& samples, const ExecutorOptions& options) {
  ReportInput::File file{&model, path, bytes};
  const auto executor = Executor::make(model, options);
  if (!executor.ok()) return file;
  const auto sample = first_sample(*executor, model, samples);
  if (!sample.ok() || !executor->run(*sample).ok()) return file;
  file.milliseconds = best_run(*executor, *sample);
  file.times = node_times(*executor, *sample);
  return file;
}

Result<void> write_report(const std::string& path, const ReportInput& input) {
  auto page = report_page(input);
  if (!page.ok()) return std::move(page).error();
  return write_file(path, *page);
}

}  // namespace anybit::cli
