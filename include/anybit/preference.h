// What generated code is to be good at. Both the session (anybit/anybit.h) and code generators
// (anybit/codegen.hpp) speak of it.
#pragma once

#include "anybit/enum.h"

typedef ANYBIT_ENUM(anybit_preference) {
  ANYBIT_PREFER_DEFAULT = 0,
  ANYBIT_PREFER_PERFORMANCE = 1,
  ANYBIT_PREFER_MEMORY = 2,
  ANYBIT_PREFER_COMPILE_TIME = 3
} anybit_preference;
