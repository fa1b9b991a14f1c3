// Vectors of a test bench: inputs, and what anybit's engine computes for them.
#pragma once

#include <string>
#include <vector>

#include "network.hpp"
#include "settings.hpp"

namespace anybit::verilog {

struct Vectors {
  // Integers in the order of the ports' elements.
  std::vector<std::vector<std::int64_t>> inputs, outputs;
};

// Runs the model in the engine; none if the model has no file. Integers of an output are its real values
// divided by the scale; an error if that gives no integers.
Vectors make_vectors(const anybit_view& view, const Settings& settings, const Port& input,
                     const Port& output);

// A line of a file for $readmemh: the elements side by side, the first in the lowest bits.
std::string hex_of(const std::vector<std::int64_t>& elements, int bits);

}  // namespace anybit::verilog
