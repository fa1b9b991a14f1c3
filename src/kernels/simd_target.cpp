#include "kernels/simd_target.hpp"

#include <hwy/targets.h>

#include "kernels/quads.hpp"

namespace anybit::kernels {

std::string_view simd_target() noexcept {
  // Better targets have lower bits.
  const auto usable = hwy::SupportedTargets() & HWY_TARGETS;
  return has_quads() ? "AVX2+VNNI" : hwy::TargetName(usable & -usable);
}

}  // namespace anybit::kernels
