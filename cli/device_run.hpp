// The on-device flow on the command line, by the session of anybit/anybit.h: gather ranges while running,
// quantize, generate code, and run by a backend.
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
  std::string quantize, qpath;  // a type or preset; where the quantized model goes
  int minmax_run = 0;           // 0: not said
  bool reproducible = false;
  std::string codegen, cpath;  // a generator; where its file goes
  std::string prefer = "default", backends, plugins;

  bool wanted() const { return !quantize.empty() || !codegen.empty() || !backends.empty(); }
};

void add_device_options(CLI::App& app, DeviceOptions& options);
// Options that would be left out in silence.
Result<void> check_together(const DeviceOptions& options);

class DeviceRun {
 public:
  // Loads the model and does what is asked for: all but the runs. `draw`: the inputs of the runs that gather
  // ranges, by number. `given`: those of the first run thereafter; they must stay where they are.
  using Draw = std::function<Result<Inputs>(int)>;
  static Result<DeviceRun> start(const std::string& model, const Limits& limits,
                                 const ExecutorOptions& executor, const DeviceOptions& options,
                                 const Inputs& given, const Draw& draw);

  // Paths of what was made; empty: nothing.
  std::string quantized() const;
  std::string generated() const;
  int gathered() const { return gathered_; }  // runs
  // True if a backend runs the model, and not anybit itself.
  bool by_backend() const;
  // They must stay where they are until the runs on them are done.
  Result<void> set_inputs(const Inputs& inputs);
  // Runs on a backend, as often as wanted; then what the last run gave. Outputs are set anew for inputs of
  // other shapes.
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
