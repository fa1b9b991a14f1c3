/// @file
/// Symbol visibility: ANYBIT_API marks exported symbols; all others are hidden.
#pragma once

#define ANYBIT_API __attribute__((visibility("default")))
