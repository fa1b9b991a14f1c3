// Which SIMD targets the CPU has: what Highway's own library would tell. All else that we use of Highway is
// in its headers, and loading the library costs every start of the program milliseconds, in which it measures
// a timer.
#include <hwy/targets.h>

#if HWY_ARCH_X86
#include <cpuid.h>
#endif

namespace hwy {
namespace {

std::atomic<std::int64_t> disabled{0}, only{0};  // `only`: what a test wants; 0: all that the CPU has

// Beyond what everything is compiled for. Of x86's targets AVX2 alone is built (cmake/settings.cmake).
std::int64_t beyond_baseline() {
#if HWY_ARCH_X86
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool halves = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
  // These look at the operating system, too: it has to keep the wide registers.
  const bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool bits = __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  return halves && wide && bits ? HWY_AVX2 : 0;
#else
  return 0;
#endif
}

}  // namespace

std::int64_t SupportedTargets() {
  static const std::int64_t kOfCpu = HWY_STATIC_TARGET | beyond_baseline();
  const std::int64_t wanted = only.load();
  const std::int64_t usable = (wanted != 0 ? wanted : kOfCpu) & ~disabled.load();
  return usable != 0 ? usable : HWY_STATIC_TARGET;
}

void DisableTargets(std::int64_t targets) {
  disabled.store(targets);
  GetChosenTarget().DeInit();
}

void SetSupportedTargetsForTest(std::int64_t targets) {
  only.store(targets);
  GetChosenTarget().DeInit();
}

ChosenTarget& GetChosenTarget() {
  static ChosenTarget chosen;
  return chosen;
}

}  // namespace hwy
