// Generates a .c and a .h file from a model (and a .S and a .bin file for many constants).
#pragma once

#include "anybit/codegen.hpp"

namespace anybit::cgen {

int generate(const anybit_view* view, const anybit_codegen_options* options, const char* path,
             anybit_text* error);

}  // namespace anybit::cgen
