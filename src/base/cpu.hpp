// What kernels may use of the CPU: what it has, capped by the environment variable ANYBIT_CPU. Every choice
// by instruction set asks here.
#pragma once

#include <string_view>

#include "anybit/result.hpp"

namespace anybit {

enum class CpuCap { sse4, avx2, avx512, none };

// ANYBIT_CPU=sse4|avx2|avx512, read once. Unset, empty or unknown is no cap; so is one above the CPU.
CpuCap cpu_cap() noexcept;
std::string_view cpu_cap_name() noexcept;  // as in ANYBIT_CPU; "" for none
// An error if ANYBIT_CPU is something else.
Result<void> check_cpu_cap();

struct CpuFeatures {
  bool avx2 = false;  // with FMA, F16C, BMI and BMI2, as all CPUs that have it
  bool avx512f = false, avx512bw = false, avx512bitalg = false, avx512vnni = false;
};
// None on other architectures than x86.
const CpuFeatures& cpu_features() noexcept;

}  // namespace anybit
