#include "kernels/simd_target.hpp"

#include <hwy/targets.h>

#include <string>

#include "base/cpu.hpp"
#include "kernels/instructions.hpp"

namespace anybit::kernels {
namespace {

std::string_view target() {
  // Better targets have lower bits.
  const auto targets = hwy::SupportedTargets() & HWY_TARGETS;
  return usable(Instructions::avx512_vnni) ? "AVX2+VNNI" : hwy::TargetName(targets & -targets);
}

}  // namespace

std::string_view simd_target() noexcept {
  if (cpu_cap() == CpuCap::none) return target();
  static const std::string capped = std::string(target()) + ", ANYBIT_CPU=" + std::string(cpu_cap_name());
  return capped;
}

}  // namespace anybit::kernels
