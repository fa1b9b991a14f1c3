// Steps that are left once fusions have taken what they can use as it is stored: those whose inputs are all
// constant become constants. (Constants of the model's own are folded before, by a pass.)
#pragma once

#include "runtime/program.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {

enum class Fold {
  small,  // for generated code: nothing packed, and nothing much larger than what it is made from
  all_but_dequantized,  // not DequantizeLinear: fusion wants the weights as they are
  all,
};

// Within the budget; what is large stays a step.
void fold_constants(Program& program, const Resources& resources, Fold what);

}  // namespace anybit::runtime
