// Random graphs from fuzz/runtime, run with and without fusions, with and without a plan.
#include "../../../fuzz/runtime/agreement.hpp"

#include <gtest/gtest.h>

#include <random>

namespace anybit::runtime::testing {
namespace {

TEST(RandomGraph, RunsAgree) {
  constexpr int kCases = 250;
  for (std::uint32_t seed = 1; seed <= kCases; ++seed) {
    std::mt19937 random(seed);
    std::vector<unsigned char> bytes(150);
    for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random());
    EXPECT_EQ(disagreement(CaseMaker(bytes).make()), "") << "seed " << seed;
  }
}

}  // namespace
}  // namespace anybit::runtime::testing
