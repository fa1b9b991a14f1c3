// Checks a property that must hold for every input: if it does not, the process aborts and the fuzzer keeps
// the input.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

#include "anybit/result.hpp"

inline void require(bool holds, const char* what, const std::string& details = {}) {
  if (holds) return;
  std::fprintf(stderr, "%s: %s\n", what, details.c_str());
  std::abort();
}

template <class T>
void require(const anybit::Result<T>& result, const char* what) {
  require(result.ok(), what, result.ok() ? "" : result.error().text());
}
