// Compiles the C code of c-gen to a shared library, with entries that are the same for every model.
//
//   int run_main_graph(const void* const* inputs, void* const* outputs);   zero: done; one run at a time
//   int main_graph_port(int output, size_t index, const char** name, const char** type, int32_t* rank,
//                       const int64_t** dims);                             -1: there is no such port
//   const char* main_graph_signature(void);                                the same, as JSON
#pragma once

#include "anybit/codegen.hpp"

namespace anybit::sogen {

int generate(const anybit_view* view, const anybit_codegen_options* options, const char* path,
             anybit_text* error);

using RunMainGraph = int (*)(const void* const* inputs, void* const* outputs);
using MainGraphPort = int (*)(int output, size_t index, const char** name, const char** type, int32_t* rank,
                              const int64_t** dims);

}  // namespace anybit::sogen
