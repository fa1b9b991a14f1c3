// Lets an operator prepare itself for a step: packed weights, tables, primitives.
#pragma once

#include "runtime/program.hpp"

namespace anybit::runtime {

// `constants`: by input; null where the value may change between runs. Returns null if the operator prepares
// nothing.
Result<std::shared_ptr<const ops::Prepared>> prepare_step(const Step& step,
                                                          std::span<const ops::Array* const> constants,
                                                          ops::Memory& memory);
// Prepares all steps from their constants, except those with variables as inputs.
Result<void> prepare_steps(Program& program, ops::Memory& memory);

}  // namespace anybit::runtime
