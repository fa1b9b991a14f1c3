#include "ops/table.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace anybit::ops {
namespace {

TEST(OperatorTable, HasEachOperatorOnce) {
  const auto all = table();
  const auto twin = std::adjacent_find(all.begin(), all.end(), [](const Descriptor* a, const Descriptor* b) {
    return a->domain == b->domain && a->name == b->name;
  });
  EXPECT_EQ(twin, all.end()) << (twin == all.end() ? "" : (*twin)->name);
}

TEST(OperatorTable, EveryOperatorHasAShapeRuleAndAscendingVersions) {
  for (const Descriptor* one : table()) {
    EXPECT_NE(one->infer, nullptr) << one->name;
    ASSERT_FALSE(one->since.empty()) << one->name;
    EXPECT_TRUE(std::is_sorted(one->since.begin(), one->since.end())) << one->name;
  }
}

TEST(OperatorTable, FindsBySpellingAndDomain) {
  ASSERT_NE(find("", "Conv"), nullptr);
  EXPECT_EQ(find("ai.onnx", "Conv"), find("", "Conv"));
  EXPECT_EQ(find("com.microsoft", "Conv"), nullptr);
  EXPECT_EQ(find("", "conv"), nullptr);
}

TEST(OperatorTable, ChoosesTheNewestVersionInAnOpset) {
  const Descriptor& conv = *find("", "Conv");
  EXPECT_EQ(version_in(conv, 10), 1);
  EXPECT_EQ(version_in(conv, 11), 11);
  EXPECT_EQ(version_in(conv, 99), 22);
  EXPECT_EQ(version_in(*find("", "Gelu"), 19), std::nullopt);
}

}  // namespace
}  // namespace anybit::ops
