// The CPU features that kernels may use: those of the CPU, capped by the environment variable ANYBIT_CPU. All
// dispatch by instruction set uses this.
#pragma once

#include <string_view>

#include "anybit/result.hpp"

namespace anybit {

enum class CpuCap { sse4, avx2, avx512, none };

// ANYBIT_CPU=sse4|avx2|avx512, read once. Unset, empty, unknown, or above the CPU: no cap.
CpuCap cpu_cap() noexcept;
std::string_view cpu_cap_name() noexcept;  // as in ANYBIT_CPU; "" for none
// An error if ANYBIT_CPU has another value.
Result<void> check_cpu_cap();

struct CpuFeatures {
  bool avx2 = false;  // with FMA, F16C, BMI and BMI2, as on all such CPUs
  bool avx512f = false, avx512bw = false, avx512bitalg = false, avx512vnni = false;
};
// All false on other architectures than x86.
const CpuFeatures& cpu_features() noexcept;

}  // namespace anybit
