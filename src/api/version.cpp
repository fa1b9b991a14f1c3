#include "anybit/version.hpp"

#include <fmt/format.h>

#include <new>
#include <string>

#include "base/cpu.hpp"
#include "base/guard.hpp"
#include "images/image.hpp"
#include "kernels/simd_target.hpp"

namespace anybit {

#define ANYBIT_TEXT_OF(x) #x
#define ANYBIT_TEXT(x) ANYBIT_TEXT_OF(x)

namespace {

std::string_view libraries() noexcept {
  constexpr std::string_view kBuilt = "protobuf " ANYBIT_PROTOBUF;
  try {
    static const std::string all = fmt::format("{}, {}", kBuilt, images::libraries());
    return all;
  } catch (const std::bad_alloc&) {
    return kBuilt;
  }
}

}  // namespace

Version version() noexcept {
#ifdef __clang__
  constexpr std::string_view kCompiler = "clang++ " __clang_version__;
#else
  constexpr std::string_view kCompiler = "g++ " __VERSION__;
#endif
  return {ANYBIT_VERSION_MAJOR,
          ANYBIT_VERSION_MINOR,
          ANYBIT_VERSION_PATCH,
          ANYBIT_TEXT(ANYBIT_VERSION_MAJOR) "." ANYBIT_TEXT(ANYBIT_VERSION_MINOR) "." ANYBIT_TEXT(
              ANYBIT_VERSION_PATCH),
          kCompiler,
          ANYBIT_BUILD_TYPE,
          libraries(),
          kernels::simd_target()};
}

Result<void> check_environment() noexcept {
  return guarded([] { return check_cpu_cap(); });
}

}  // namespace anybit
