// Which anybit this is, and how it was built.
#pragma once

#include <string_view>

#include "anybit/export.hpp"
#include "anybit/result.hpp"

namespace anybit {

struct Version {
  int major, minor, patch;
  std::string_view text;      // "0.1.0"
  std::string_view compiler;  // "g++ 12.2.0"
  std::string_view build;     // "Release", "Debug", …
  std::string_view with;      // "protobuf 3.21.12, oneDNN 2.6.0, libpng 1.6.39, …"
  std::string_view simd;      // what the kernels use on this CPU: "AVX2"; "SSE4, ANYBIT_CPU=sse4" if capped
};

// Of the library that is loaded, not of the headers that the program was built with.
ANYBIT_API Version version() noexcept;

// An error if the environment variable ANYBIT_CPU is not one of sse4, avx2 and avx512. It caps the
// instructions that kernels use; running, calibrating and quantizing look at it, too.
ANYBIT_API Result<void> check_environment() noexcept;

}  // namespace anybit
