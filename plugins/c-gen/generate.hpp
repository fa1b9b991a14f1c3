// What the plugin does: a model becomes a .c and a .h beside it (and a .S and a .bin if its constants are
// many).
#pragma once

#include "anybit/codegen.hpp"

namespace anybit::cgen {

int generate(const anybit_view* view, const anybit_codegen_options* options, const char* path,
             anybit_text* error);

}  // namespace anybit::cgen
