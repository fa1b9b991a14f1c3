// Every kernel of the list, with every instruction set that this CPU has, against naive loops.
#include <gtest/gtest.h>

#include <set>

#include "unit/kernels/kernel_cases.hpp"

namespace anybit::kernels {
namespace {

constexpr unsigned kSeed = 20261118;

std::string text_of(const Descriptor& one) {
  return std::string(operation_of(one)) + ": " + std::string(one.name) + ", " +
         std::string(name_of(one.needs));
}

bool is_codec(const Descriptor& one) { return std::holds_alternative<GroupCodec>(one.kernel); }

bool is_built(const Descriptor& one) {
  return std::visit(
      []<class K>(const K& kernel) {
        if constexpr (std::is_same_v<K, GroupCodec>) {
          return true;
        } else {
          return kernel.run != nullptr;
        }
      },
      one.kernel);
}

void check(const KernelCase& test, ThreadPool& pool) {
  test.run(pool);
  test.reference();
  for (std::size_t i = 0; i < test.count; ++i)
    ASSERT_LE(test.off(i), test.tolerance) << test.sizes << " at " << i;
}

TEST(KernelList, EveryKernelEqualsNaiveLoops) {
  ThreadPool pool(2);
  for (const Descriptor* one : table()) {
    if (!is_built(*one) || !usable(one->needs)) continue;
    SCOPED_TRACE(text_of(*one) + ", seed " + std::to_string(kSeed));
    const Trial trial(*one);
    for (const bool everywhere : {false, true}) {
      const ReproducibleScope scope(everywhere);
      std::mt19937 random(kSeed);
      const KernelCases all = cases_of(*one, false, random);
      EXPECT_FALSE(all.empty());
      for (const KernelCase& test : all) {
        check(test, pool);
        if (HasFatalFailure()) return;
      }
    }
    EXPECT_TRUE(is_codec(*one) || trial.chosen > 0) << "no case fits this kernel";
  }
}

// Codecs have one row for all SIMD targets.
TEST(KernelList, EveryCodecEqualsTheScalarCodecOnEveryTarget) {
  ThreadPool pool(1);
  for (const Instructions set : kInstructions) {
    if (!usable(set)) continue;
    use_at_most(set);
    for (const Descriptor* one : table()) {
      if (!is_codec(*one)) continue;
      SCOPED_TRACE(text_of(*one));
      std::mt19937 random(kSeed);
      for (const KernelCase& test : cases_of(*one, false, random)) check(test, pool);
    }
    use_at_most(kAllInstructions);
  }
}

TEST(KernelList, HasABaselineKernelForEveryOperation) {
  std::set<std::string_view> all, baseline;
  for (const Descriptor* one : table()) {
    all.insert(operation_of(*one));
    if (one->needs == Instructions::baseline) baseline.insert(operation_of(*one));
  }
  all.erase("integer Conv, VNNI");  // needs VNNI
  EXPECT_EQ(all, baseline);
}

TEST(KernelList, PicksTheFittingKernelWithTheMostRecentInstructions) {
  const float ones[64 * 64] = {};
  float out[64 * 64];
  ThreadPool pool(1);
  const PackedFloats right({ones, 64, 1}, 64, 64);
  const FloatGemmWork work{
      .m = 64, .n = 64, .k = 64, .a = {ones, 64, 1}, .b = &right, .c = out, .c_stride = 64};
  for (const Descriptor* one : table()) {
    const auto* kernel = std::get_if<FloatGemm>(&one->kernel);
    if (!kernel || !kernel->run || !usable(one->needs) || (kernel->fits && !kernel->fits(work))) continue;
    EXPECT_EQ(choose<FloatGemm>(work).run, kernel->run) << "the first that fits is " << text_of(*one);
    break;
  }
  const ReproducibleScope scope(true);
  const auto run = choose<FloatGemm>(work).run;
  for (const Descriptor* one : table()) {
    const auto* kernel = std::get_if<FloatGemm>(&one->kernel);
    EXPECT_TRUE(!kernel || kernel->run != run || one->same_bits) << text_of(*one);
  }
}

}  // namespace
}  // namespace anybit::kernels
