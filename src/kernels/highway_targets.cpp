// The CPU's SIMD targets, in place of Highway's own library. The rest of Highway is header-only here, and
// loading the library would cost milliseconds at each start, in which it calibrates a timer.
#include <hwy/targets.h>

#include "base/cpu.hpp"
#include "base/reproducible.hpp"
#include "kernels/instructions.hpp"

namespace hwy {
namespace {

std::atomic<std::int64_t> disabled{0}, only{0};  // `only`: set by tests; 0: all that the CPU has

// Targets beyond the baseline. For x86, only AVX2 is compiled (cmake/settings.cmake).
std::int64_t beyond_baseline() {
#if HWY_ARCH_X86
  return anybit::cpu_features().avx2 ? HWY_AVX2 : 0;
#else
  return 0;
#endif
}

ChosenTarget chosen, baseline;

std::int64_t of_cpu() {
  static const std::int64_t kAll = HWY_STATIC_TARGET | beyond_baseline();
  const std::int64_t wanted = only.load();
  const std::int64_t usable = (wanted != 0 ? wanted : kAll) & ~disabled.load();
  return usable != 0 ? usable : HWY_STATIC_TARGET;
}

}  // namespace

std::int64_t SupportedTargets() {
  // The baseline of every CPU, hence the same bits: four lanes, and on x86 no fused multiply-adds.
  return anybit::reproducible() ? HWY_STATIC_TARGET : of_cpu();
}

void DisableTargets(std::int64_t targets) {
  disabled.store(targets);
  chosen.DeInit();
}

void SetSupportedTargetsForTest(std::int64_t targets) {
  using anybit::kernels::Instructions;
  only.store(targets);
  chosen.DeInit();
  anybit::kernels::most_instructions = targets == 0                ? anybit::kernels::kAllInstructions
                                       : (targets & HWY_AVX2) != 0 ? Instructions::avx2
                                                                   : Instructions::baseline;
}

ChosenTarget& GetChosenTarget() { return anybit::reproducible() ? baseline : chosen; }

}  // namespace hwy
