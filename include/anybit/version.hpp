/// @file
/// Version and build information of the library.
#pragma once

#include <string_view>

#include "anybit/export.hpp"
#include "anybit/result.hpp"

namespace anybit {

/// Version and build of a library. The texts are static.
struct Version {
  int major, minor, patch;
  std::string_view text;      ///< "0.1.0"
  std::string_view compiler;  ///< "g++ 12.2.0"
  std::string_view build;     ///< "Release", "Debug", …
  std::string_view with;      ///< dependencies: "protobuf 3.21.12, libpng 1.6.39, …"
  std::string_view simd;      ///< the instruction set in use: "AVX2"; "SSE4, ANYBIT_CPU=sse4" if capped
};

/// Returns the version of the loaded library, which may differ from the headers that the program was built
/// with.
ANYBIT_API Version version() noexcept;

/// Checks the environment variable ANYBIT_CPU, which caps the instruction set of the kernels: an error if it
/// is set to anything but sse4, avx2 or avx512. Functions that run, calibrate or quantize a model make the
/// same check.
ANYBIT_API Result<void> check_environment() noexcept;

}  // namespace anybit
