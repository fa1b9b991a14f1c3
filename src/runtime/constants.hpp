// Folds steps whose inputs are all constant, after fusions have taken the weights that they use in stored
// form. (A pass folds the model's own constant subgraphs before that.)
#pragma once

#include "runtime/program.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {

enum class Fold {
  small,                // for generated code: nothing packed, and no result much larger than its inputs
  all_but_dequantized,  // not DequantizeLinear: fusions want the weights quantized
  all,
};

// Folds within the budget; a step with a large result stays a step.
void fold_constants(Program& program, const Resources& resources, Fold what);

}  // namespace anybit::runtime
