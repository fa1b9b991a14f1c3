#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "base/cpu.hpp"

namespace {

TEST(HighwayTargets, TheBaselineIsAlwaysThere) { EXPECT_NE(hwy::SupportedTargets() & HWY_STATIC_TARGET, 0); }

#if HWY_ARCH_X86
// The CPU flags that Linux reports; empty on other systems.
std::set<std::string> flags() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("flags", 0) != 0) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    return {std::istream_iterator<std::string>(words), {}};
  }
  return {};
}

TEST(HighwayTargets, Avx2IsThereIfTheCpuHasAllItsExtensions) {
  const std::set<std::string> has = flags();
  if (has.empty()) return;
  bool all = anybit::cpu_cap() != anybit::CpuCap::sse4;
  for (const char* one : {"avx2", "fma", "bmi1", "bmi2", "f16c"}) all = all && has.count(one) != 0;
  EXPECT_EQ((hwy::SupportedTargets() & HWY_AVX2) != 0, all);
}
#endif

TEST(HighwayTargets, ATestMaySelectATargetAndOthersMayBeDisabled) {
  const std::int64_t all = hwy::SupportedTargets();
  hwy::SetSupportedTargetsForTest(HWY_STATIC_TARGET);
  EXPECT_EQ(hwy::SupportedTargets(), HWY_STATIC_TARGET);
  hwy::SetSupportedTargetsForTest(0);
  EXPECT_EQ(hwy::SupportedTargets(), all);
  hwy::DisableTargets(all);
  EXPECT_EQ(hwy::SupportedTargets(), HWY_STATIC_TARGET);  // at least one must remain
  hwy::DisableTargets(0);
  EXPECT_EQ(hwy::SupportedTargets(), all);
}

}  // namespace
