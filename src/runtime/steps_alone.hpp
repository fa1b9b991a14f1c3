// Extracts some steps as a program of their own: a context of the whole program would take time and memory
// for all its slots.
#pragma once

#include <initializer_list>

#include "runtime/program.hpp"

namespace anybit::runtime {

// The steps in this order. Slots are renumbered; constants keep their values.
Program steps_alone(const Program& program, std::initializer_list<std::size_t> steps);

}  // namespace anybit::runtime
