// From a verified model to a program.
#pragma once

#include <span>

#include "base/thread_pool.hpp"
#include "runtime/program.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {

struct BuildOptions {
  bool fuse = true;                             // nodes that a single kernel can do together become one
  std::span<const std::string> watch = {};      // values that are to be shown; see ExecutorOptions
  std::span<const std::string> variables = {};  // initializers that are none: see ExecutorOptions
  std::span<const std::string> updated = {};    // those of them that each run gives a new value
  Purpose purpose = Purpose::run;
  Limits limits = {};  // of functions and of folding
};

// The program has a copy of what it needs of the model; data is shared.
Result<std::unique_ptr<Program>> build(const graph::Model& model, const std::shared_ptr<ops::Memory>& memory,
                                       ThreadPool& pool, const BuildOptions& options = {});

}  // namespace anybit::runtime
