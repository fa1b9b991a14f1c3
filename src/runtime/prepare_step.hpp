// Lets an operator prepare itself for a step: packed weights, tables, primitives.
#pragma once

#include "runtime/program.hpp"

namespace anybit::runtime {

// `constants` by input; null where the value may be another in the next run. Null if the operator keeps
// nothing.
Result<std::shared_ptr<const ops::Prepared>> prepare_step(const Step& step,
                                                          std::span<const ops::Array* const> constants,
                                                          ops::Memory& memory);
// All steps whose inputs are no variables, from their constants.
Result<void> prepare_steps(Program& program, ops::Memory& memory);

}  // namespace anybit::runtime
