// Work that can be done before the first run: constants, and what operators keep.
#pragma once

#include "runtime/program.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {

enum class Fold {
  small,                // all_but_weights, and nothing that is much larger than what it is made from
  all_but_weights,      // not DequantizeLinear and Decode: fusion wants the weights as they are
  all_but_dequantized,  // not DequantizeLinear
  all,
};

// Replaces steps whose inputs are all constant by their results, as long as these are not large and within
// the budget.
void fold_constants(Program& program, const Resources& resources, Fold what);
// Lets every operator prepare itself; frees constants that nobody reads any more.
Result<void> prepare_steps(Program& program, ops::Memory& memory);

}  // namespace anybit::runtime
