#include "graph/element_type.hpp"

#include <gtest/gtest.h>

namespace anybit::graph {
namespace {

TEST(ElementType, HasAllOfOnnxUnderItsNumbers) {
  ASSERT_EQ(element_types().size(), 26u);
  for (std::int32_t number = 1; number <= 26; ++number) {
    const ElementTypeInfo* info = find(static_cast<ElementType>(number));
    ASSERT_NE(info, nullptr) << number;
    EXPECT_EQ(static_cast<std::int32_t>(info->type), number);
    EXPECT_EQ(find_element_type(info->name), info);
    EXPECT_EQ(name_of(info->type), info->name);
  }
}

TEST(ElementType, OtherNumbersAreUnknownButCanBeNamed) {
  for (const std::int32_t number : {-1, 0, 27, 1 << 30}) {
    EXPECT_EQ(find(static_cast<ElementType>(number)), nullptr);
  }
  EXPECT_EQ(name_of(static_cast<ElementType>(99)), "type 99");
  EXPECT_EQ(find_element_type("float33"), nullptr);
}

TEST(ElementType, OnlyStringsHaveNoWidth) {
  for (const ElementTypeInfo& info : element_types()) {
    EXPECT_EQ(info.bits == 0, info.type == ElementType::string) << info.name;
  }
}

}  // namespace
}  // namespace anybit::graph
