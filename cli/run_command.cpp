// anybit run MODEL: runs a model once or many times, on files or on made-up values.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "anybit/executor.hpp"
#include "anybit/profile.hpp"
#include "command.hpp"
#include "device_run.hpp"
#include "model_inputs.hpp"
#include "options.hpp"
#include "profile_text.hpp"
#include "table.hpp"
#include "terminal.hpp"
#include "text_file.hpp"
#include "widened.hpp"

namespace anybit::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::string model, output, trace;
  LoadOptions load;
  ExecutorOptions executor;
  InputOptions inputs;
  DeviceOptions device;
  int repeat = 1;
  bool profile = false, no_fuse = false, json = false;
};

struct Outcome {
  std::vector<Value> outputs;
  std::vector<double> milliseconds;
  std::vector<RunProfile> profiles;
  std::vector<std::string> written;
  // What was done before the runs.
  std::string quantized, generated;
  int gathered = 0;
  bool by_backend = false;
};

// Every character outside A–Z a–z 0–9 . _ - becomes '_'.
std::string file_name(const std::string& name) {
  std::string result = name;
  for (char& c : result) {
    const bool plain = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == '-';
    if (!plain) c = '_';
  }
  return result.empty() || result[0] == '.' ? "_" + result : result;
}

// What numpy has no type for is widened, and text is one string to a line.
Result<void> write_value(const std::string& path, const Value& value, std::vector<std::string>& written) {
  if (value.kind == Value::Kind::nothing) return {};
  if (value.kind == Value::Kind::sequence) {
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      auto done = write_value(fmt::format("{}.{}", path, i), value.items[i], written);
      if (!done.ok()) return done;
    }
    return {};
  }
  if (value.tensor.type == "string") {
    written.push_back(path + ".txt");
    return write_text(written.back(), fmt::format("{}\n", fmt::join(value.strings, "\n")));
  }
  const auto array = widened(value.tensor);
  if (!array.ok()) return array.error();
  written.push_back(path + ".npy");
  return write_npy(written.back(), *array);
}

Result<void> write_outputs(const Executor& executor, const std::string& folder, Outcome& outcome) {
  std::error_code code;
  std::filesystem::create_directories(folder, code);
  if (code)
    return Error{Code::io, fmt::format("cannot make the folder '{}': {}", folder, code.message()), {}, {}};
  std::set<std::string> used;
  for (std::size_t i = 0; i < outcome.outputs.size(); ++i) {
    std::string name = file_name(executor.outputs()[i].name);
    while (!used.insert(name).second) name += "_";  // two names may become the same
    auto done =
        write_value((std::filesystem::path(folder) / name).string(), outcome.outputs[i], outcome.written);
    if (!done.ok())
      return std::move(done).error().within(fmt::format("output '{}'", executor.outputs()[i].name));
  }
  return {};
}

double milliseconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

Result<void> execute(const Executor& executor, const Inputs& inputs, const Options& options,
                     Outcome& outcome) {
  const bool profiled = options.profile || !options.trace.empty();
  for (int i = 0; i < options.repeat; ++i) {
    RunProfile profile;
    const auto begin = std::chrono::steady_clock::now();
    auto outputs = executor.run(inputs.values, profiled ? &profile : nullptr);
    const double milliseconds = milliseconds_since(begin);
    if (!outputs.ok()) return std::move(outputs).error();
    outcome.outputs = std::move(outputs).value();
    outcome.milliseconds.push_back(milliseconds);
    if (profiled) outcome.profiles.push_back(std::move(profile));
  }
  return {};
}

Result<void> execute_by_backend(const Executor& executor, const Options& options, DeviceRun& device,
                                Outcome& outcome) {
  if (options.profile || !options.trace.empty())
    return Error{Code::invalid_argument, "a backend tells no times of nodes", {}, "--backend cpu"};
  auto done = device.set_outputs(executor.outputs());
  for (int i = 0; done.ok() && i < options.repeat; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    done = device.run();
    outcome.milliseconds.push_back(milliseconds_since(begin));
  }
  if (!done.ok()) return done;
  auto values = device.values();
  if (!values.ok()) return std::move(values).error();
  outcome.outputs = std::move(values).value();
  return {};
}

// The first run plans its memory, so that of several only the later ones are shown.
std::vector<RunProfile> warm(const std::vector<RunProfile>& profiles) {
  return profiles.size() > 1 ? std::vector(profiles.begin() + 1, profiles.end()) : profiles;
}

std::string time_text(std::vector<double> times) {
  if (times.size() == 1) return fmt::format("{:.3f} ms", times[0]);
  const double first = times[0];
  std::ranges::sort(times);
  return fmt::format("{:.3f} ms best, {:.3f} ms median of {} runs (first {:.3f} ms)", times[0],
                     times[times.size() / 2], times.size(), first);
}

std::string text_of(const Executor& executor, const Inputs& inputs, const Outcome& outcome,
                    const Options& options) {
  Table table({{""}, {""}, {""}});
  for (const Port& port : executor.inputs()) {
    const auto given = inputs.values.find(port.name);
    if (given == inputs.values.end()) continue;
    const bool made_up = std::ranges::count(inputs.made_up, port.name) != 0;
    table.add({"Input", shortened(printable(port.name), 40),
               type_text(given->second) + (made_up ? "  (random: no file was given)" : "")});
  }
  for (std::size_t i = 0; i < outcome.outputs.size(); ++i) {
    table.add(
        {"Output", shortened(printable(executor.outputs()[i].name), 40), type_text(outcome.outputs[i])});
  }
  std::string text = table.text(0);
  if (outcome.gathered > 0)
    text += fmt::format("Ranges  of {} runs{}\n", outcome.gathered,
                        inputs.made_up.empty() ? "" : " on random values: real ones make a better model");
  if (!outcome.quantized.empty()) text += fmt::format("Written {}\n", outcome.quantized);
  if (!outcome.generated.empty()) text += fmt::format("Written {}\n", outcome.generated);
  text += fmt::format("Time    {}{}\n", time_text(outcome.milliseconds),
                      outcome.by_backend ? ", by the generator's backend" : "");
  if (!outcome.by_backend)
    text += fmt::format("Memory  {} for values and prepared weights\n", short_bytes(executor.peak_memory()));
  for (const std::string& path : outcome.written) text += fmt::format("Written {}\n", path);
  const Executor::Decoded decoded = executor.decoded();
  if (options.profile && decoded.weights > 0)
    text += fmt::format("Decoded {} packed weights once, when the model was loaded: {} as float32\n",
                        decoded.weights, short_bytes(decoded.bytes));
  if (options.profile) text += to_text(warm(outcome.profiles));
  return text;
}

std::string json_of(const Executor& executor, const Inputs& inputs, const Outcome& outcome,
                    const Options& options) {
  Json json = {{"inputs", Json::object()},
               {"outputs", Json::object()},
               {"milliseconds", outcome.milliseconds},
               {"peak_bytes", executor.peak_memory()},
               {"decoded_weights", executor.decoded().weights},
               {"decoded_bytes", executor.decoded().bytes},
               {"written", outcome.written}};
  if (options.device.wanted()) {
    json["quantized"] = outcome.quantized;
    json["generated"] = outcome.generated;
    json["ranges_runs"] = outcome.gathered;
    json["by_backend"] = outcome.by_backend;
  }
  for (const auto& [name, value] : inputs.values) {
    json["inputs"][name] = {{"type", type_text(value)},
                            {"random", std::ranges::count(inputs.made_up, name) != 0}};
  }
  for (std::size_t i = 0; i < outcome.outputs.size(); ++i) {
    json["outputs"][executor.outputs()[i].name] = {{"type", type_text(outcome.outputs[i])}};
  }
  if (options.profile) json["nodes"] = Json::parse(profile_json(warm(outcome.profiles)));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<Executor> executor_of(const std::string& path, const Options& options) {
  auto model = Model::load(path, options.load);
  if (!model.ok()) return in_file(std::move(model).error(), path);
  auto executor = Executor::make(*model, options.executor);
  if (!executor.ok()) return in_file(std::move(executor).error(), path);
  return executor;
}

// Values from files are the same for every run that gathers ranges; those that are made up are others each
// time.
Result<DeviceRun> device_of(const Executor& executor, const Inputs& inputs, const Options& options) {
  const auto draw = [&](int number) {
    InputOptions next = options.inputs;
    next.seed += static_cast<std::uint64_t>(number) * 1'000'003;
    return gather_inputs(executor.inputs(), next);
  };
  auto device = DeviceRun::start(options.model, options.executor.threads, options.device, inputs, draw);
  if (!device.ok()) return in_file(std::move(device).error(), options.model);
  return device;
}

// The on-device flow, then the runs: by a backend, or of the quantized model as of any other.
Result<void> run_on_device(Executor& executor, const Inputs& inputs, const Options& options,
                           Outcome& outcome) {
  auto device = device_of(executor, inputs, options);
  if (!device.ok()) return std::move(device).error();
  outcome.quantized = device->quantized();
  outcome.generated = device->generated();
  outcome.gathered = device->gathered();
  outcome.by_backend = device->by_backend();
  if (outcome.by_backend) return execute_by_backend(executor, options, *device, outcome);
  if (!outcome.quantized.empty()) {
    auto quantized = executor_of(outcome.quantized, options);
    if (!quantized.ok()) return std::move(quantized).error();
    executor = std::move(quantized).value();
  }
  return execute(executor, inputs, options, outcome);
}

Result<void> run(Options& options) {
  options.executor.fuse = !options.no_fuse;
  std::vector<std::string> others = options.inputs.inputs;
  others.push_back(options.model);
  if (auto checked = check_replaces("--trace", options.trace, others); !checked.ok()) return checked;
  auto executor = executor_of(options.model, options);
  if (!executor.ok()) return std::move(executor).error();
  auto inputs = gather_inputs(executor->inputs(), options.inputs);
  if (!inputs.ok()) return std::move(inputs).error();
  Outcome done;
  Outcome* const outcome = &done;
  auto ran = options.device.wanted() ? run_on_device(*executor, *inputs, options, done)
                                     : execute(*executor, *inputs, options, done);
  if (!ran.ok()) return in_file(std::move(ran).error(), options.model);
  if (!options.output.empty()) {
    auto written = write_outputs(*executor, options.output, *outcome);
    if (!written.ok()) return written;
  }
  if (!options.trace.empty()) {
    auto written = write_text(options.trace, profile_trace(outcome->profiles));
    if (!written.ok()) return written;
    outcome->written.push_back(options.trace);
  }
  fmt::print("{}", options.json ? json_of(*executor, *inputs, *outcome, options)
                                : text_of(*executor, *inputs, *outcome, options));
  return {};
}

std::function<Result<void>()> set_up(CLI::App& app) {
  auto options = std::make_shared<Options>();
  app.add_option("MODEL", options->model, "The ONNX file")->required();
  add_input_options(app, options->inputs);
  app.add_option("-o,--output", options->output, "A folder for the outputs: one .npy each, named after it");
  app.add_option("--repeat", options->repeat, "Run this many times")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  app.add_flag("--profile", options->profile, "Show the time of every operator and of the slowest nodes");
  app.add_option("--trace", options->trace, "Write the times to a file that chrome://tracing opens")
      ->type_name("FILE.json");
  add_executor_options(app, options->executor);
  add_device_options(app, options->device);
  app.add_flag("--no-fuse", options->no_fuse, "Run every node by itself");
  app.add_flag("--json", options->json, "Print everything as JSON");
  add_load_options(app, options->load);
  return [options] { return run(*options); };
}

}  // namespace

Command run_command() {
  return {"Run a model on files or on random values, and show where the time goes", set_up};
}

}  // namespace anybit::cli
