// Runs libraries of so-gen.
#pragma once

#include "anybit/codegen.hpp"

namespace anybit::sogen {

void* load(const char* path, anybit_text* error);
int run(void* loaded, const anybit_tensor* inputs, size_t input_count, anybit_tensor* outputs,
        size_t output_count, anybit_text* error);
void unload(void* loaded);

}  // namespace anybit::sogen
