#include "kernels/simd_target.hpp"

#include <hwy/targets.h>

#include <string>

#include "base/cpu.hpp"
#include "kernels/quads.hpp"

namespace anybit::kernels {
namespace {

std::string_view target() {
  // Better targets have lower bits.
  const auto usable = hwy::SupportedTargets() & HWY_TARGETS;
  return has_quads() ? "AVX2+VNNI" : hwy::TargetName(usable & -usable);
}

}  // namespace

std::string_view simd_target() noexcept {
  if (cpu_cap() == CpuCap::none) return target();
  static const std::string capped = std::string(target()) + ", ANYBIT_CPU=" + std::string(cpu_cap_name());
  return capped;
}

}  // namespace anybit::kernels
