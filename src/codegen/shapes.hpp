// Types and shapes of all values of a program, before it runs: what ops/infer.hpp tells of the model that it
// was built from, and operators of the steps that fusions made.
#pragma once

#include <unordered_map>
#include <vector>

#include "anybit/limits.hpp"
#include "ops/op.hpp"
#include "runtime/program.hpp"

namespace anybit::codegen {

class Shapes {
 public:
  // The inputs are as the program's model declares them. An error if a step cannot work as it is.
  static Result<Shapes> of(const runtime::Program& program, const Limits& limits);

  // By slot; of the program, or of one inside a step.
  const ops::Values& in(const runtime::Program& program) const { return values_.at(&program); }

  // Why a branch of an If cannot run with these inputs, though the other can: it is not to be looked into.
  // Null if it can.
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
