// Types and shapes of all values of a program before it runs: from ops/infer.hpp for the model's nodes, and
// from the operators for nodes made by fusions.
#pragma once

#include <unordered_map>
#include <vector>

#include "anybit/limits.hpp"
#include "ops/op.hpp"
#include "runtime/program.hpp"

namespace anybit::codegen {

class Shapes {
 public:
  // The inputs are as the program's model declares them. An error if a step cannot run with these shapes.
  static Result<Shapes> of(const runtime::Program& program, const Limits& limits);

  // By slot; of the program, or of an inner one.
  const ops::Values& in(const runtime::Program& program) const { return values_.at(&program); }

  // The reason why a branch of an If cannot run with these inputs although the other can: such a branch has
  // no shapes. Null if it can run.
  const Error* why_not(const runtime::Program& branch) const {
    const auto found = impossible_.find(&branch);
    return found == impossible_.end() ? nullptr : &found->second;
  }

 private:
  friend class ShapeFinder;
  std::unordered_map<const runtime::Program*, ops::Values> values_;
  std::unordered_map<const runtime::Program*, Error> impossible_;
};

}  // namespace anybit::codegen
