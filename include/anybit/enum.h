// How headers for C declare enumerations. A C program may give any number for one; in C++ a number that is
// none of its values would be undefined, unless its type is fixed.
#pragma once

#ifdef __cplusplus
#define ANYBIT_ENUM(name) enum name : int
#else
#define ANYBIT_ENUM(name) enum name
#endif
