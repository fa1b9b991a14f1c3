// anybit run MODEL: the options of run_model().
#include <memory>

#include "command.hpp"
#include "numbers.hpp"
#include "options.hpp"
#include "run_model.hpp"

namespace anybit::cli {
namespace {

std::function<Result<void>()> set_up_run(CLI::App& app) {
  auto options = std::make_shared<RunFlags>();
  app.add_option("MODEL", options->model, "The ONNX file")->required();
  add_input_options(app, options->inputs);
  app.add_option(
      "-o,--output", options->output,
      "A folder for the outputs: OUTPUT.npy; with several samples, a folder per output with one file per "
      "sample");
  app.add_option("--labels", options->labels,
                 "The correct classes, one per row of the first output, in the order of the samples: .npy, "
                 "or text; adds top-1 and top-5");
  app.add_option("--warmup", options->warmup, "Run each sample this many times before, without timing")
      ->transform(parse_integer(0, 1'000'000))
      ->capture_default_str();
  app.add_option("--repeat", options->repeat, "Run each sample this many times")
      ->transform(parse_integer(1, 1'000'000))
      ->capture_default_str();
  app.add_flag("--profile", options->profile,
               "Show the time per operator and of the slowest nodes, and write a trace");
  app.add_option("--trace", options->trace,
                 "Write the times to a file that chrome://tracing opens [with --profile: MODEL.trace.json in "
                 "the current folder]")
      ->type_name("FILE.json");
  add_executor_options(app, options->executor);
  add_device_options(app, options->device);
  app.add_flag("--no-fuse", options->no_fuse, "Do not fuse operators");
  app.add_flag("--json", options->json, "Print everything as JSON");
  add_load_options(app, options->load);
  return [options] { return run_model(*options); };
}

}  // namespace

Command run_command() {
  return {"Run a model on files or on random values, and show where the time goes", set_up_run};
}

}  // namespace anybit::cli
