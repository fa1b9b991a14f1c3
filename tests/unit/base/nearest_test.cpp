// "Did you mean": close names first, then names with a common prefix.
#include "base/nearest.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace anybit {
namespace {

constexpr std::string_view kNames[] = {"fp8_e4m3", "fp8_e5m2", "int8", "mxfp6_e2m3", "mxfp6_e3m2", "nvfp4"};

TEST(Nearest, AMisspeltNameIsFound) {
  EXPECT_EQ(nearest("fp8_e4m4", kNames).front(), "fp8_e4m3");
  EXPECT_EQ(nearest("FP8_E4M3", kNames).front(), "fp8_e4m3");
  EXPECT_EQ(did_you_mean("nvfp44", kNames), "did you mean 'nvfp4'?");
}

TEST(Nearest, ATruncatedNameGetsThoseWithTheSamePrefix) {
  EXPECT_THAT(nearest("mxfp66", kNames), testing::ElementsAre("mxfp6_e2m3", "mxfp6_e3m2"));
}

TEST(Nearest, TheNameItselfComesBeforeThoseWithTheSamePrefix) {
  constexpr std::string_view kIntegers[] = {"int2", "int3", "int4", "int8", "int80"};
  EXPECT_EQ(nearest("INT8", kIntegers).front(), "int8");
}

TEST(Nearest, ASubstringGetsTheNamesThatContainIt) {
  EXPECT_EQ(nearest("e4m3", kNames), std::vector<std::string>{"fp8_e4m3"});
}

TEST(Nearest, NothingIsSuggestedForAnUnrelatedWord) {
  EXPECT_EQ(did_you_mean("zebra", kNames), "");
  EXPECT_EQ(did_you_mean("", kNames), "");
}

}  // namespace
}  // namespace anybit
