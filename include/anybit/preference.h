/// @file
/// Optimization preference for generated code, shared by sessions (anybit/anybit.h) and code generators
/// (anybit/codegen.hpp).
#pragma once

// Gives enumerations a fixed underlying type in C++. A C program may pass any number for an enumeration;
// without a fixed type, a number outside of its values would be undefined behavior in C++.
#ifdef __cplusplus
#define ANYBIT_ENUM_TYPE : int
#else
#define ANYBIT_ENUM_TYPE
#endif

/// What generated code is optimized for.
typedef enum anybit_preference ANYBIT_ENUM_TYPE {
  ANYBIT_PREFER_DEFAULT = 0,      ///< chosen by the generator
  ANYBIT_PREFER_PERFORMANCE = 1,  ///< speed
  ANYBIT_PREFER_MEMORY = 2,       ///< memory footprint
  ANYBIT_PREFER_COMPILE_TIME = 3  ///< compile time
} anybit_preference;
