// The work of a step that has just run, or is about to.
#pragma once

#include <span>

#include "runtime/program.hpp"

namespace anybit::runtime {

// Multiply-accumulates, from the shapes in the slots; 0 if the operator has none.
std::int64_t macs_of(const Step& step, std::span<const ops::Datum> slots);
// Elements that it reads and products that it sums, from the shapes of its inputs alone. What it writes is
// known when it asks for memory.
std::int64_t expected_work(const Step& step, std::span<const ops::Datum> slots);

}  // namespace anybit::runtime
