// From a verified model to a program.
#pragma once

#include <span>

#include "base/thread_pool.hpp"
#include "graph/budget.hpp"
#include "runtime/program.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {

struct BuildOptions {
  bool fuse = true;                         // nodes that a single kernel can do together become one
  std::span<const std::string> watch = {};  // values that are to be shown; see ExecutorOptions
  Purpose purpose = Purpose::run;
  Limits limits = {};               // of functions and of folding
  graph::Budget* budget = nullptr;  // of work before the model runs; null: one by the limits
};

// The program refers to the model, which must outlive it.
Result<std::unique_ptr<Program>> build(const graph::Model& model, const std::shared_ptr<ops::Memory>& memory,
                                       ThreadPool& pool, const BuildOptions& options = {});

}  // namespace anybit::runtime
