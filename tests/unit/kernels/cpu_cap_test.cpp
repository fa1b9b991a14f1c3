// ANYBIT_CPU in separate processes: it is read only once.
#include <gtest/gtest.h>
#include <hwy/targets.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/cpu.hpp"
#include "base/reproducible.hpp"
#include "kernels/conv/onednn_engine.hpp"
#include "kernels/elementwise/unary.hpp"
#include "kernels/instructions.hpp"
#include "kernels/simd_target.hpp"

namespace anybit::kernels {
namespace {

// The choices of every kind of kernel.
struct Choices {
  std::int64_t highway;
  bool vnni, avx512, bitalg;
  int onednn;
};

Choices choices() {
  float x = 1;
  map(Map::exp, &x, &x, 1, 0, 0);  // Highway chooses a target when its first kernel is called
  const auto targets = hwy::SupportedTargets() & HWY_TARGETS;
  return {targets & -targets, usable(Instructions::avx512_vnni), usable(Instructions::avx512),
          usable(Instructions::avx512_bitalg), onednn_instruction_set()};
}

void tell(const Choices& all) {
  std::fprintf(stderr, "highway %s, vnni %d, avx512 %d, bitalg %d, oneDNN %x, %s\n",
               hwy::TargetName(all.highway), all.vnni, all.avx512, all.bitalg, all.onednn,
               std::string(simd_target()).c_str());
}

// Sets the variable for the process that EXPECT_EXIT starts.
class CpuCap : public ::testing::Test {
 protected:
  static void set(const char* cap) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    setenv("ANYBIT_CPU", cap, 1);
  }
  void SetUp() override {
    if (const char* text = getenv("ANYBIT_CPU")) before_ = text;
  }
  void TearDown() override {
    before_.empty() ? unsetenv("ANYBIT_CPU") : setenv("ANYBIT_CPU", before_.c_str(), 1);
  }

 private:
  std::string before_;
};

constexpr int kSse41 = 1, kAvx2 = 7;  // dnnl_cpu_isa_t

TEST_F(CpuCap, Sse4LeavesOnlyTheBaseline) {
  set("sse4");
  EXPECT_EXIT(
      {
        const Choices all = choices();
        tell(all);
        _exit(all.highway == HWY_STATIC_TARGET && !all.vnni && !all.avx512 && !all.bitalg &&
                      all.onednn <= kSse41
                  ? 0
                  : 1);
      },
      ::testing::ExitedWithCode(0), "ANYBIT_CPU=sse4");
}

TEST_F(CpuCap, Avx2DisablesNewerInstructions) {
  set("avx2");
  EXPECT_EXIT(
      {
        const Choices all = choices();
        tell(all);
        _exit(!all.vnni && !all.avx512 && !all.bitalg && all.onednn <= kAvx2 ? 0 : 1);
      },
      ::testing::ExitedWithCode(0),
      // The scalar build of `make test-scalar` has no kernels for AVX2.
      cpu_features().avx2 && HWY_STATIC_TARGET != HWY_SCALAR ? "highway AVX2.*ANYBIT_CPU=avx2"
                                                             : "ANYBIT_CPU=avx2");
}

TEST_F(CpuCap, Avx512AndNoneDisableNothing) {
  if (cpu_cap() == anybit::CpuCap::sse4 || cpu_cap() == anybit::CpuCap::avx2)
    return;  // the test itself is capped
  const Choices here = choices();
  for (const char* cap : {"avx512", ""}) {
    set(cap);
    EXPECT_EXIT(
        {
          const Choices all = choices();
          tell(all);
          _exit(all.highway == here.highway && all.vnni == here.vnni && all.avx512 == here.avx512 &&
                        all.bitalg == here.bitalg && all.onednn == here.onednn
                    ? 0
                    : 1);
        },
        ::testing::ExitedWithCode(0), "");
  }
}

TEST_F(CpuCap, AnUnknownValueIsAnErrorThatListsTheValidOnes) {
  setenv("ANYBIT_CPU", "avx", 1);
  const auto checked = check_cpu_cap();
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().code, Code::invalid_argument);
  EXPECT_NE(checked.error().message.find("'avx'"), std::string::npos);
  for (const char* right : {"sse4", "avx2", "avx512", ""}) {
    setenv("ANYBIT_CPU", right, 1);
    EXPECT_TRUE(check_cpu_cap().ok()) << right;
  }
}

TEST(Reproducible, KernelsUseTheBaselineOnly) {
  float x = 1;
  map(Map::exp, &x, &x, 1, 0, 0);
  const std::int64_t all = hwy::SupportedTargets();
  {
    const ReproducibleScope scope(true);
    EXPECT_EQ(hwy::SupportedTargets(), HWY_STATIC_TARGET);
    EXPECT_FALSE(onednn_available());
    float y = 0.7f;
    map(Map::exp, &y, &y, 1, 0, 0);
    hwy::SetSupportedTargetsForTest(HWY_STATIC_TARGET);
    const ReproducibleScope not_so(false);
    float z = 0.7f;
    map(Map::exp, &z, &z, 1, 0, 0);
    hwy::SetSupportedTargetsForTest(0);
    EXPECT_EQ(y, z);
  }
  EXPECT_EQ(hwy::SupportedTargets(), all);
}

}  // namespace
}  // namespace anybit::kernels
