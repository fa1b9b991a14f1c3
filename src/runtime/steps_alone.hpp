// Some steps of a program as a program of their own: a context of the whole one would take, each time, as
// long as it has slots.
#pragma once

#include <initializer_list>

#include "runtime/program.hpp"

namespace anybit::runtime {

// In this order. Slots are numbered anew; constants keep their values.
Program steps_alone(const Program& program, std::initializer_list<std::size_t> steps);

}  // namespace anybit::runtime
