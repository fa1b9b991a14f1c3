#include "base/cpu.hpp"

#include <cstdlib>

#include "base/error.hpp"
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

namespace anybit {
namespace {

constexpr std::string_view kNames[] = {"sse4", "avx2", "avx512"};

std::string_view asked() noexcept {
  const char* text = std::getenv("ANYBIT_CPU");
  return text ? text : "";
}

CpuCap cap_of(std::string_view name) noexcept {
  for (const CpuCap cap : {CpuCap::sse4, CpuCap::avx2, CpuCap::avx512}) {
    if (name == kNames[static_cast<int>(cap)]) return cap;
  }
  return CpuCap::none;
}

CpuFeatures found() noexcept {
  CpuFeatures all;
#if defined(__x86_64__) || defined(__i386__)
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
  // These also check that the operating system saves the wide registers.
  all.avx2 = f16c && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
             __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  // With the parts that all such CPUs but Xeon Phi have.
  all.avx512f = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
                __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                __builtin_cpu_supports("avx512vl");
  all.avx512bw = __builtin_cpu_supports("avx512bw");
  all.avx512bitalg = __builtin_cpu_supports("avx512bitalg");
  all.avx512vnni = __builtin_cpu_supports("avx512vnni");
#endif
  if (cpu_cap() == CpuCap::sse4) return {};
  if (cpu_cap() == CpuCap::avx2) return {.avx2 = all.avx2};
  return all;
}

}  // namespace

CpuCap cpu_cap() noexcept {
  static const CpuCap cap = cap_of(asked());
  return cap;
}

std::string_view cpu_cap_name() noexcept {
  return cpu_cap() == CpuCap::none ? "" : kNames[static_cast<int>(cpu_cap())];
}

Result<void> check_cpu_cap() {
  if (asked().empty() || cap_of(asked()) != CpuCap::none) return {};
  return error_at(Code::invalid_argument, {},
                  fmt::format("the environment variable ANYBIT_CPU is '{}'", shown(asked())),
                  "sse4, avx2 or avx512 caps what kernels use of the CPU; unset it for no cap");
}

const CpuFeatures& cpu_features() noexcept {
  static const CpuFeatures features = found();
  return features;
}

}  // namespace anybit
