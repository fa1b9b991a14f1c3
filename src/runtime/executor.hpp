// Runs a model. Prepared once, then never changed: any number of threads may run it at the same time.
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
};

class Executor {
 public:
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

  // By name. Inputs are not copied: they must stay as they are until the run is over.
  Result<std::vector<ops::Datum>> run(const std::map<std::string, ops::Datum>& inputs,
                                      Profile* profile = nullptr) const;
  // In the order of inputs(); those with a default may be nothing.
  Result<std::vector<ops::Datum>> run(std::span<const ops::Datum> inputs, Profile* profile = nullptr) const;

  ops::Memory& memory() const { return *memory_; }
  ThreadPool& pool() const { return *pool_; }
  const Program& program() const { return *program_; }

 private:
  Executor() = default;
  Result<void> check(std::size_t index, const ops::Datum& value) const;

  std::shared_ptr<const graph::Model> model_;
  std::shared_ptr<ops::Memory> memory_;
  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<Program> program_;
  std::vector<Port> inputs_, outputs_;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Context>> idle_;
};

}  // namespace anybit::runtime
