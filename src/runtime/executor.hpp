// Runs a model. Prepared once, then never changed but for its variables: any number of threads may run it at
// the same time.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/build.hpp"
#include "runtime/context.hpp"

namespace anybit::runtime {

struct ExecutorOptions {
  int threads = 0;              // 0: one for each core
  std::int64_t max_memory = 0;  // bytes for values and packed weights; 0: no limit
  bool fuse = true;
  // Names of values that Executor::run shows: inputs, constants, outputs of nodes, in the main graph and in
  // those inside nodes (not in functions). They are kept whole: no fusion swallows them, and they are made
  // even if nobody uses them.
  std::vector<std::string> watch = {};
  // Names of dense initializers of the main graph: variables. They are neither folded nor fused away, and can
  // be read and written between runs. A graph that has one as an input has no such input any more.
  std::vector<std::string> variables = {};
  struct Update {
    std::string variable, output;
  };
  // When a run is over, the variable has the value of the output, which the caller does not get: a step of an
  // optimizer. Such runs, and writes, take turns.
  std::vector<Update> updates = {};
  Limits limits = {};  // of functions and of folding
};

class Executor {
 public:
  // Made by a thread that is reproducible() (base/reproducible.hpp), it runs so on any.
  static Result<std::unique_ptr<Executor>> make(std::shared_ptr<const graph::Model> model,
                                                const ExecutorOptions& options = {});
  ~Executor();

  struct Port {
    std::string name;
    const graph::ValueInfo* info;
    bool required;
  };
  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }

  // By name. Inputs are not copied: they must stay as they are until the run is over. `watcher` sees the
  // values of ExecutorOptions::watch in the order in which they are made: inputs when they are bound, those
  // that are constant after them, once in a run; a graph inside a node shows its own each time it runs, and
  // nothing if it never does. `intervention` may change those that nodes make.
  Result<std::vector<ops::Datum>> run(const std::map<std::string, ops::Datum>& inputs,
                                      Profile* profile = nullptr, Watcher* watcher = nullptr,
                                      Intervention* intervention = nullptr) const;
  // In the order of inputs(); those with a default may be nothing.
  Result<std::vector<ops::Datum>> run(std::span<const ops::Datum> inputs, Profile* profile = nullptr,
                                      Watcher* watcher = nullptr, Intervention* intervention = nullptr) const;
  // The same into as many as outputs() has: nothing is taken from the heap once shapes are known.
  Result<void> run_into(std::span<const ops::Datum> inputs, std::span<ops::Datum> outputs,
                        Profile* profile = nullptr, Watcher* watcher = nullptr,
                        Intervention* intervention = nullptr) const;
  // By name; shares its elements, which never change: later writes put others in their place.
  Result<ops::Array> variable(std::string_view name) const;
  const std::vector<std::string>& variables() const;
  // All of them as one moment has them.
  std::map<std::string, ops::Array> all_variables() const;
  // Copies the values: all of them, or none if one has another type or shape than its variable. Runs that
  // have begun go on with those before.
  Result<void> write(const std::map<std::string, ops::Datum>& values) const;

  // The number of an input; an error that names those there are.
  Result<std::size_t> input(std::string_view name) const;

  ops::Memory& memory() const { return *memory_; }
  ThreadPool& pool() const { return *pool_; }
  const Program& program() const { return *program_; }

 private:
  Executor() = default;
  Result<void> check(std::size_t index, const ops::Datum& value) const;
  Result<std::size_t> variable_number(std::string_view name) const;
  Result<void> make_variables(const ExecutorOptions& options);
  Result<void> update(std::span<const ops::Datum> results) const;

  std::shared_ptr<const graph::Model> model_;
  std::shared_ptr<ops::Memory> memory_;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<Program> program_;
  std::map<std::string, std::size_t, std::less<>> numbers_;  // of inputs
  std::vector<Port> inputs_, outputs_;
  std::unique_ptr<Variables> variables_;  // null if there are none
  struct Update {
    std::size_t variable, output;  // numbers; the output's is the program's
  };
  std::vector<Update> updates_;
  std::vector<std::size_t> given_;  // outputs of the program that the caller gets, if there are updates
  mutable std::mutex updating_;
  bool reproducible_ = false;  // weights are packed for the kernels of one kind
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Context>> idle_;
};

}  // namespace anybit::runtime
