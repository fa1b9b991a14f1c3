// The test bench: a module that feeds vectors, compares the results, and says PASS or FAIL.
#pragma once

#include <string>

#include "network.hpp"
#include "vectors.hpp"

namespace anybit::verilog {

// What the test bench knows of the top module.
struct Device {
  std::string name;
  std::string files;  // the beginning of the names of the files that it reads
  Bus input, output;
  int class_bits = 0;   // of the port `index`; 0: there is none
  int latency = 0;      // clock cycles; of a pipeline that takes an input in each
  bool serial = false;  // start and done instead of a pipeline
};

std::string bench_of(const Device& device, std::size_t vectors);
// The lines of the files that it reads: <files>_inputs.hex and <files>_expected.hex (results, then the index
// of the largest in the highest bits).
std::string input_lines(const Device& device, const Vectors& vectors);
std::string expected_lines(const Device& device, const Vectors& vectors);

}  // namespace anybit::verilog
