// The program onert_run: `anybit run` with the command line of onert's program.
#include <fmt/format.h>

#include <cstdlib>

#include "arguments.hpp"
#include "numbers.hpp"
#include "options.hpp"
#include "package.hpp"
#include "program.hpp"
#include "raw_files.hpp"
#include "run_model.hpp"

namespace anybit::cli {
namespace {

std::string variable(const char* name) {
  const char* const text = std::getenv(name);
  return text ? text : "";
}

Result<void> set_threads(RunFlags& flags) {
  std::string text = variable("NUM_THREADS");
  if (text.empty()) return {};
  if (!parse_integer(1, 1024)(text).empty()) return unreadable("NUM_THREADS", text, "4");
  flags.executor.threads = std::atoi(text.c_str());
  return {};
}

// What onert numbers, anybit names: the inputs of the model.
Result<void> set_inputs(RunFlags& flags, const OnertArguments& arguments) {
  if (arguments.shapes.empty() && arguments.load_raw.empty()) return {};
  auto model = Model::load(flags.model, flags.load);
  if (!model.ok()) return in_file(std::move(model).error(), flags.model);
  auto executor = Executor::make(*model, flags.executor);
  if (!executor.ok()) return in_file(std::move(executor).error(), flags.model);
  std::vector<Port> inputs = executor->inputs();
  for (const auto& [index, dims] : arguments.shapes) {
    if (index >= inputs.size())
      return Error{Code::invalid_argument,
                   fmt::format("there is no input {}", index),
                   {},
                   fmt::format("the model has {}, counted from 0", inputs.size())};
    flags.inputs.shapes[inputs[index].name] = dims;
    inputs[index].dims = dims;
  }
  if (arguments.load_raw.empty()) return {};
  auto values = read_raw(arguments.load_raw, inputs);
  if (!values.ok()) return std::move(values).error();
  flags.inputs.values = std::move(values).value();
  return {};
}

Result<void> run(const OnertArguments& arguments) {
  const nnfw::Package package = nnfw::read_package(arguments.path);
  if (!package.error.empty()) return Error{Code::unsupported, package.error, {}, {}};
  RunFlags flags;
  flags.model = package.model;
  flags.device.quantize = arguments.quantize;
  flags.device.qpath = arguments.qpath;
  flags.device.minmax_run = arguments.minmax_runs;
  flags.device.codegen = arguments.codegen;
  flags.device.cpath = arguments.cpath;
  flags.device.backends = variable("BACKENDS");
  flags.warmup = arguments.warmup_runs;
  flags.repeat = arguments.num_runs;
  if (!arguments.load.empty()) flags.inputs.inputs.push_back(arguments.load);
  if (!arguments.dump_raw.empty())
    flags.take_outputs = [&](const std::vector<Value>& outputs) {
      return write_raw(arguments.dump_raw, outputs);
    };
  auto done = set_threads(flags);
  if (done.ok()) done = set_inputs(flags, arguments);
  return done.ok() ? run_model(flags) : done;
}

int run(int argc, char** argv) {
  const auto arguments = parse_onert_arguments(argc, argv);
  if (!arguments.ok()) return report("onert_run", arguments.error(), false);
  if (!arguments->output.empty()) {
    fmt::print("{}", arguments->output);
    return kFine;
  }
  const auto done = run(*arguments);
  return done.ok() ? kFine : report("onert_run", done.error(), false);
}

}  // namespace
}  // namespace anybit::cli

int main(int argc, char** argv) {
  return anybit::cli::run_program("onert_run", [&] { return anybit::cli::run(argc, argv); });
}
