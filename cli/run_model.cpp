#include "run_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <filesystem>
#include <optional>

#include "anybit/executor.hpp"
#include "anybit/profile.hpp"
#include "anybit/write_file.hpp"
#include "labels.hpp"
#include "options.hpp"
#include "output_files.hpp"
#include "progress.hpp"
#include "run_text.hpp"
#include "terminal.hpp"
#include "text_file.hpp"

namespace anybit::cli {
namespace {

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

// Runs a sample `repeat` times and returns the outputs of the last run.
Result<std::vector<Value>> execute(const Executor& executor, const Inputs& inputs, const RunFlags& options,
                                   RunOutcome& outcome, std::vector<double>& milliseconds) {
  const bool profiled = !options.trace.empty();
  std::vector<Value> last;
  for (int i = 0; i < options.warmup; ++i) {
    if (auto outputs = executor.run(inputs.values); !outputs.ok()) return std::move(outputs).error();
  }
  for (int i = 0; i < options.repeat; ++i) {
    RunProfile profile;
    const auto begin = std::chrono::steady_clock::now();
    auto outputs = executor.run(inputs.values, profiled ? &profile : nullptr);
    milliseconds.push_back(milliseconds_since(begin));
    if (!outputs.ok()) return std::move(outputs).error();
    last = std::move(outputs).value();
    if (profiled) outcome.profiles.push_back(std::move(profile));
  }
  return last;
}

Result<std::vector<Value>> execute_by_backend(const Executor& executor, const Inputs& inputs,
                                              const RunFlags& options, DeviceRun& device,
                                              std::vector<double>& milliseconds) {
  if (!options.trace.empty())
    return Error{Code::invalid_argument, "a backend reports no times of nodes", {}, "--backend cpu"};
  auto done = device.set_inputs(inputs);
  if (done.ok()) done = device.set_outputs(executor.outputs());
  for (int i = 0; done.ok() && i < options.warmup; ++i) done = device.run();
  for (int i = 0; done.ok() && i < options.repeat; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    done = device.run();
    milliseconds.push_back(milliseconds_since(begin));
  }
  if (!done.ok()) return std::move(done).error();
  return device.values();
}

Result<Executor> executor_of(const std::string& path, const RunFlags& options) {
  auto model = load_model(path, options.load);
  if (!model.ok()) return std::move(model).error();
  auto executor = Executor::make(*model, options.executor);
  if (!executor.ok()) return in_file(std::move(executor).error(), path);
  return executor;
}

// Calibration runs take the samples in order and start over after the last; random inputs differ in every
// run.
Result<DeviceRun> device_of(const Executor& executor, const Inputs& first, const RunFlags& options) {
  auto stream = InputStream::open(executor.inputs(), options.inputs);
  if (!stream.ok()) return std::move(stream).error();
  const auto draw = [&](int number) -> Result<Inputs> {
    stream->set_seed(options.inputs.seed + static_cast<std::uint64_t>(number) * 1'000'003);
    auto inputs = stream->next();
    if (inputs.ok() && !*inputs) {
      if (auto again = stream->rewind(); !again.ok()) return std::move(again).error();
      inputs = stream->next();
    }
    if (!inputs.ok()) return std::move(inputs).error();
    return std::move(**inputs);
  };
  DeviceOptions device_options = options.device;
  if (device_options.minmax_run == 0) {
    const std::int64_t samples = stream->count().value_or(1);
    device_options.minmax_run =
        samples == 1 ? 10 : static_cast<int>(std::min<std::int64_t>(samples, INT_MAX));
  }
  auto device =
      DeviceRun::start(options.model, options.load.limits, options.executor, device_options, first, draw);
  if (!device.ok()) return in_file(std::move(device).error(), options.model);
  return device;
}

// The on-device flow except the runs. Replaces the executor by that of the quantized model.
Result<DeviceRun> prepare_device(Executor& executor, const Inputs& first, const RunFlags& options,
                                 RunOutcome& outcome) {
  auto device = device_of(executor, first, options);
  if (!device.ok()) return device;
  outcome.quantized = device->quantized();
  outcome.generated = device->generated();
  outcome.gathered = device->gathered();
  outcome.by_backend = device->by_backend();
  if (outcome.by_backend) return device;
  // The session decides which backend may run.
  if (!options.device.backends.empty()) {
    if (auto may = device->run(); !may.ok()) return std::move(may).error();
  }
  if (!outcome.quantized.empty()) {
    auto quantized = executor_of(outcome.quantized, options);
    if (!quantized.ok()) return std::move(quantized).error();
    executor = std::move(quantized).value();
  }
  return device;
}

SampleOutcome outcome_of(const Inputs& inputs, const std::string& name) {
  SampleOutcome sample;
  sample.name = name;
  sample.made_up = inputs.made_up;
  for (const auto& [input, value] : inputs.values) sample.inputs.emplace(input, type_text(value));
  return sample;
}

// Processes samples one by one, so that only one is in memory.
struct Runs {
  const Executor& executor;
  const RunFlags& options;
  std::optional<DeviceRun> backend;
  std::optional<LabelCounter> labels;
  std::optional<OutputFiles> files;
  RunOutcome& outcome;

  Result<void> run(const Inputs& inputs, const std::string& name) {
    SampleOutcome sample = outcome_of(inputs, name);
    auto values = backend ? execute_by_backend(executor, inputs, options, *backend, sample.milliseconds)
                          : execute(executor, inputs, options, outcome, sample.milliseconds);
    if (!values.ok())
      return of_model(of_sample(of_run(std::move(values).error(), inputs), name), options.model);
    for (const Value& one : *values) sample.outputs.push_back(type_text(one));
    if (labels) {
      auto counted = labels->add(values->empty() ? Value() : (*values)[0]);
      if (!counted.ok()) return of_sample(std::move(counted).error(), name).within("--labels");
    }
    if (options.take_outputs) {
      if (auto taken = options.take_outputs(*values); !taken.ok()) return taken;
    }
    if (files) {
      auto written = files->write(*values, name);
      if (!written.ok()) return std::move(written).error();
      sample.written = std::move(written).value();
    }
    outcome.add(std::move(sample), executor.outputs());
    return {};
  }

  Error of_sample(Error error, const std::string& name) const {
    if (name.empty()) return error;
    return std::move(error).within(fmt::format("sample {} ({})", outcome.count, printable(name)));
  }
};

// The trace of --profile goes to the current folder: the folder of the model may be read-only.
std::string default_trace(const std::string& model) {
  return std::filesystem::path(model).stem().string() + ".trace.json";
}

Result<void> check_trace(const RunFlags& options) {
  std::vector<std::string> others = options.inputs.inputs;
  others.insert(others.end(), {options.model, options.labels});
  auto checked = check_replaces("--trace", options.trace, others);
  if (checked.ok()) checked = check_writable(options.trace);
  return checked;
}

Result<void> run_all(Runs& runs, InputStream& stream, std::optional<Inputs> inputs) {
  std::optional<Progress> progress;
  if (!runs.outcome.single) progress.emplace("running", "samples", stream.count());
  while (inputs) {
    if (auto done = runs.run(*inputs, stream.name()); !done.ok()) return done;
    if (progress) progress->show(runs.outcome.count);
    auto next = stream.next();
    if (!next.ok()) return std::move(next).error();
    inputs = std::move(next).value();
  }
  return {};
}

}  // namespace

Result<void> run_model(RunFlags& options) {
  options.executor.fuse = !options.no_fuse;
  const bool nowhere = options.profile && options.trace.empty();
  if (nowhere) options.trace = default_trace(options.model);
  if (auto checked = check_trace(options); !checked.ok()) {
    Error error = std::move(checked).error();
    if (nowhere) error.hint = "--trace FILE sets the path of the trace";
    return error;
  }
  if (auto checked = check_together(options.device); !checked.ok()) return checked;
  auto labels = options.labels.empty() ? std::vector<std::int64_t>() : read_labels(options.labels);
  if (!labels.ok()) return std::move(labels).error();
  auto executor = executor_of(options.model, options);
  if (!executor.ok()) return std::move(executor).error();
  auto stream = InputStream::open(executor->inputs(), options.inputs);
  if (!stream.ok()) return std::move(stream).error();
  auto inputs = stream->next();
  if (!inputs.ok()) return std::move(inputs).error();
  const std::optional<std::int64_t> count = stream->count();
  RunOutcome outcome;
  outcome.single = count == 1;
  outcome.keeps_all = options.json;
  outcome.on_device = options.device.wanted();
  Runs runs{*executor, options, {}, {}, {}, outcome};
  if (outcome.on_device) {
    auto device = prepare_device(*executor, **inputs, options, outcome);
    if (!device.ok()) return in_file(std::move(device).error(), options.model);
    if (outcome.by_backend) runs.backend = std::move(device).value();
  }
  const bool spare = options.inputs.samples.limit > 0;
  if (!labels->empty()) runs.labels.emplace(std::move(labels).value(), outcome.single && !spare);
  if (!options.output.empty()) runs.files.emplace(options.output, executor->outputs(), count);
  if (auto done = run_all(runs, *stream, std::move(inputs).value()); !done.ok()) return done;
  if (runs.labels) {
    auto hits = runs.labels->finish(spare);
    if (!hits.ok()) return std::move(hits).error().within("--labels");
    outcome.hits = *hits;
  }
  if (!options.trace.empty()) {
    auto written = write_file(options.trace, profile_trace(outcome.profiles));
    if (!written.ok()) return written;
    outcome.trace = options.trace;
  }
  fmt::print("{}", options.json ? run_json(*executor, outcome, options.profile)
                                : run_text(*executor, outcome, options.profile));
  return {};
}

}  // namespace anybit::cli
