// What generated code is to be good at. Both the session (anybit/anybit.h) and code generators
// (anybit/codegen.hpp) speak of it.
#pragma once

// A C program may give any number for an enumeration; in C++ a number that is none of its values would be
// undefined, unless its type is fixed.
#ifdef __cplusplus
#define ANYBIT_ENUM_TYPE : int
#else
#define ANYBIT_ENUM_TYPE
#endif

typedef enum anybit_preference ANYBIT_ENUM_TYPE {
  ANYBIT_PREFER_DEFAULT = 0,
  ANYBIT_PREFER_PERFORMANCE = 1,
  ANYBIT_PREFER_MEMORY = 2,
  ANYBIT_PREFER_COMPILE_TIME = 3
} anybit_preference;
