// Runs a model. An executor is immutable except for its variables: any number of threads may run it at once.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/build.hpp"
#include "runtime/context.hpp"

namespace anybit::runtime {

struct ExecutorOptions {
  int threads = 0;              // 0: one per core
  std::int64_t max_memory = 0;  // bytes for values and packed weights; 0: no limit
  bool fuse = true;
  // Names of values that Executor::run shows: inputs, constants and outputs of nodes, in the main graph and
  // in graphs inside nodes (not in functions). Fusions keep these values, and they are computed even if
  // nothing uses them.
  std::vector<std::string> watch = {};
  // Names of dense initializers of the main graph that become variables. They are neither folded nor fused
  // away, and can be read and written between runs. A variable that is also an input of the graph is no
  // longer an input.
  std::vector<std::string> variables = {};
  struct Update {
    std::string variable, output;
  };
  // At the end of a run the variable takes the value of the output, which the caller does not get: a step of
  // an optimizer. Runs with updates, and writes, are serialized.
  std::vector<Update> updates = {};
  Limits limits = {};  // on function inlining and constant folding
  // Inputs with an initializer are always inputs. Otherwise they are constants until a run gives one of them
  // a value: such runs use a second program, which is then built.
  bool defaults_vary = false;
};

class Executor {
 public:
  // If the calling thread is reproducible() (base/reproducible.hpp), the executor is too, on any thread.
  static Result<std::unique_ptr<Executor>> make(std::shared_ptr<const graph::Model> model,
                                                const ExecutorOptions& options = {});
  ~Executor();

  struct Port {
    std::string name;
    const graph::ValueInfo* info;
    bool required;
  };
  // Without initializers of files before IR version 4, which can nevertheless be given by name.
  std::span<const Port> inputs() const { return std::span(ports_).first(shown_); }
  const std::vector<Port>& outputs() const { return outputs_; }

  // By name. Inputs are not copied: they must not change during the run. `watcher` sees the values of
  // ExecutorOptions::watch in the order of computation, each once per run: first inputs, then constants, then
  // outputs of nodes. A graph inside a node shows its values each time that it runs. `intervention` may
  // change the outputs of nodes.
  Result<std::vector<ops::Datum>> run(const std::map<std::string, ops::Datum>& inputs,
                                      Profile* profile = nullptr, Watcher* watcher = nullptr,
                                      Intervention* intervention = nullptr) const;
  // In the order of inputs(), or of all that input() numbers; those with a default may be empty.
  Result<std::vector<ops::Datum>> run(std::span<const ops::Datum> inputs, Profile* profile = nullptr,
                                      Watcher* watcher = nullptr, Intervention* intervention = nullptr) const;
  // The same, into as many datums as outputs() has: no heap allocation once shapes are known.
  Result<void> run_into(std::span<const ops::Datum> inputs, std::span<ops::Datum> outputs,
                        Profile* profile = nullptr, Watcher* watcher = nullptr,
                        Intervention* intervention = nullptr) const;
  // By name. The array shares its elements, which never change: a later write replaces the array.
  Result<ops::Array> variable(std::string_view name) const;
  const std::vector<std::string>& variables() const;
  // A consistent snapshot of all of them.
  std::map<std::string, ops::Array> all_variables() const;
  // Copies the values: all of them, or none if a type or shape differs from its variable's. Runs that have
  // begun continue with the old values.
  Result<void> write(const std::map<std::string, ops::Datum>& values) const;

  // The index of an input, below input_count(); the error for an unknown name lists the inputs.
  Result<std::size_t> input(std::string_view name) const;
  std::size_t input_count() const { return ports_.size(); }

  ops::Memory& memory() const { return *memory_; }
  ThreadPool& pool() const { return *pool_; }
  const Program& program() const { return *program_; }

 private:
  Executor() = default;
  void find_ports();
  Result<const Executor*> general() const;
  bool gives_default(std::span<const ops::Datum> inputs) const;
  Result<void> run_general(std::span<const ops::Datum> inputs, std::span<ops::Datum> outputs,
                           Profile* profile, Watcher* watcher, Intervention* intervention) const;
  Result<void> check(std::size_t index, const ops::Datum& value) const;
  Result<std::size_t> variable_number(std::string_view name) const;
  Result<void> make_variables(const ExecutorOptions& options);
  Result<void> update(std::span<const ops::Datum> results) const;

  std::shared_ptr<const graph::Model> model_;
  std::shared_ptr<ops::Memory> memory_;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<Program> program_;
  std::map<std::string, std::size_t, std::less<>> numbers_;  // indices of inputs
  std::vector<Port> ports_, outputs_;
  std::size_t shown_ = 0;           // the ports of inputs() come first
  std::vector<std::size_t> taken_;  // by input of the program: its port
  bool in_order_ = true;            // they are the first ports
  ExecutorOptions options_;
  mutable std::unique_ptr<Executor>
      general_;                           // in which all ports are inputs of the program; made when needed
  std::unique_ptr<Variables> variables_;  // null if there are none
  struct Update {
    std::size_t variable, output;  // indices; the output's is in Program::outputs
  };
  std::vector<Update> updates_;
  std::vector<std::size_t> given_;  // outputs of the program that the caller gets; used only with updates
  mutable std::mutex updating_;
  bool reproducible_ = false;  // as the thread that made it; weights are packed for the kernels of that mode
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Context>> idle_;
};

}  // namespace anybit::runtime
