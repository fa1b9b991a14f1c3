// Types and shapes of all values of a program, before it runs: what ops/infer.hpp tells of a model, told of
// steps and slots, so that it holds for what fusions made, too.
#pragma once

#include <unordered_map>
#include <vector>

#include "ops/op.hpp"
#include "runtime/program.hpp"

namespace anybit::codegen {

class Shapes {
 public:
  // `inputs`: of the program, in its order. An error if a step cannot work as it is.
  static Result<Shapes> of(const runtime::Program& program, const ops::Values& inputs);

  // By slot; of the program, or of one inside a step.
  const ops::Values& in(const runtime::Program& program) const { return values_.at(&program); }

  // Why a branch of an If cannot run with these inputs, though the other can: it is not to be looked into.
  // Null if it can.
  const Error* why_not(const runtime::Program& branch) const {
    const auto found = impossible_.find(&branch);
    return found == impossible_.end() ? nullptr : &found->second;
  }

 private:
  friend class ShapeWalker;
  std::unordered_map<const runtime::Program*, ops::Values> values_;
  std::unordered_map<const runtime::Program*, Error> impossible_;
};

}  // namespace anybit::codegen
