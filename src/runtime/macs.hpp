// The work of a step that has just run.
#pragma once

#include <span>

#include "runtime/program.hpp"

namespace anybit::runtime {

// Multiply-accumulates, from the shapes in the slots; 0 if the operator has none.
std::int64_t macs_of(const Step& step, std::span<const ops::Datum> slots);

}  // namespace anybit::runtime
