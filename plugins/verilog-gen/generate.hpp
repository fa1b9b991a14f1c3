// The entry of the generator: settings, files.
#pragma once

#include "anybit/codegen.hpp"

namespace anybit::verilog {

int generate(const anybit_view* view, const anybit_codegen_options* options, const char* path,
             anybit_text* error);

}  // namespace anybit::verilog
