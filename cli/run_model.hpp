// `anybit run` without its command line: runs a model once or many times, on files or random values. The
// program onert_run uses it, too.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "anybit/executor.hpp"
#include "device_run.hpp"
#include "model_inputs.hpp"

namespace anybit::cli {

struct RunFlags {
  std::string model, output;
  std::string trace;   // never empty with --profile
  std::string labels;  // a file
  LoadOptions load;
  ExecutorOptions executor;
  InputOptions inputs;
  DeviceOptions device;
  int warmup = 0, repeat = 1;
  bool profile = false, no_fuse = false, json = false;
  // Gets the outputs of each sample; may be empty.
  std::function<Result<void>(const std::vector<Value>&)> take_outputs;
};

// Runs, and prints the results.
Result<void> run_model(RunFlags& options);

}  // namespace anybit::cli
