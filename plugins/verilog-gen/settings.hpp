// What the caller may set: --set name=…, registers=…, vectors=…, samples=….
#pragma once

#include <string>

#include "anybit/codegen.hpp"

namespace anybit::verilog {

struct Settings {
  std::string name;     // of the top module; the others begin with it
  int registers = 1;    // a layer in so many ends with registers; 0: none
  int vectors = 8;      // of the test bench
  std::string samples;  // a .npy file of the input for the test bench; empty: random vectors
};

// `stem`: of the file to write.
Settings settings_of(const anybit_codegen_options& options, const std::string& stem);

}  // namespace anybit::verilog
