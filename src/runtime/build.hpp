// Builds a program from a verified model.
#pragma once

#include <span>

#include "base/thread_pool.hpp"
#include "runtime/program.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {

// What inputs with an initializer are: before IR version 4 every initializer had to be an input, too.
enum class Defaults : std::uint8_t {
  as_filed,   // inputs, but constants in a file before IR version 4
  constants,  // weights can be packed, and folded into others
  inputs,
};

struct BuildOptions {
  bool fuse = true;                             // fuse nodes that a single kernel can compute
  std::span<const std::string> watch = {};      // values shown to the Watcher; see ExecutorOptions
  std::span<const std::string> variables = {};  // initializers that become variables; see ExecutorOptions
  std::span<const std::string> updated = {};    // variables that each run gives a new value
  Purpose purpose = Purpose::run;
  Limits limits = {};  // on function inlining and constant folding
  Defaults defaults = Defaults::as_filed;
};

// The program copies the parts of the model that it needs; tensor data is shared.
Result<std::unique_ptr<Program>> build(const graph::Model& model, const std::shared_ptr<ops::Memory>& memory,
                                       ThreadPool& pool, const BuildOptions& options = {});

}  // namespace anybit::runtime
