// The on-device flow on the command line, through the session of anybit/anybit.h: gather ranges while
// running, quantize, generate code, and run on a backend.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "anybit/anybit.h"
#include "anybit/executor.hpp"
#include "model_inputs.hpp"

namespace anybit::cli {

struct DeviceOptions {
  std::string quantize, qpath;  // a type or preset; the path of the quantized model
  int minmax_run = 0;           // 0: not given
  bool reproducible = false;
  std::string codegen, cpath;  // a generator; the path of its output
  std::string prefer = "default", backends, plugins;

  bool wanted() const { return !quantize.empty() || !codegen.empty() || !backends.empty(); }
};

void add_device_options(CLI::App& app, DeviceOptions& options);
// Rejects options that would have no effect.
Result<void> check_together(const DeviceOptions& options);

class DeviceRun {
 public:
  // Loads the model and does all requested steps except the runs. `draw`: the inputs of the calibration runs,
  // by number. `given`: the inputs of the first run after that; they must outlive it.
  using Draw = std::function<Result<Inputs>(int)>;
  static Result<DeviceRun> start(const std::string& model, const Limits& limits,
                                 const ExecutorOptions& executor, const DeviceOptions& options,
                                 const Inputs& given, const Draw& draw);

  // Paths of the written files; empty if none was written.
  std::string quantized() const;
  std::string generated() const;
  int gathered() const { return gathered_; }  // runs
  // True if a backend runs the model instead of anybit itself.
  bool by_backend() const;
  // The inputs must outlive the runs that read them.
  Result<void> set_inputs(const Inputs& inputs);
  // Runs on a backend any number of times; values() are the outputs of the last run. Call set_outputs() again
  // when the shapes of the inputs change.
  Result<void> set_outputs(const std::vector<Port>& ports);
  Result<void> run();
  Result<std::vector<Value>> values() const;

 private:
  struct Close {
    void operator()(anybit_session* session) const { anybit_close_session(session); }
  };
  Result<void> check(anybit_status status) const;
  Result<void> set_limits(const Limits& limits, std::int64_t max_memory) const;
  Result<void> gather(const DeviceOptions& options, const Draw& draw);
  Result<void> quantize(const DeviceOptions& options, const Draw& draw);

  std::unique_ptr<anybit_session, Close> session_;
  struct Output {
    std::string type;
    std::vector<std::int64_t> dims;
    std::vector<std::byte> bytes;
  };
  std::vector<Output> outputs_;
  int gathered_ = 0;
};

}  // namespace anybit::cli
