// Consistency of the format table.
#include "formats/table.hpp"

#include <gtest/gtest.h>

#include <map>

namespace anybit::formats {
namespace {

TEST(FormatTable, AnAliasBelongsToOneFormatAndIsInLowerCase) {
  std::map<std::string_view, std::string_view> named;
  for (const Descriptor* one : table()) {
    for (const std::string_view other : one->other_names) {
      EXPECT_TRUE(named.emplace(other, one->name).second) << other << " is " << named[other] << ", too";
      EXPECT_FALSE(find(other).ok()) << other;
      for (const char c : other) EXPECT_FALSE(c >= 'A' && c <= 'Z') << other;
    }
  }
  EXPECT_NE(find("HALF").error().hint.find("float16"), std::string::npos);
}

TEST(FormatTable, AFormatWithAnUngroupedEquivalentHasTheSameRangeWithoutGroups) {
  for (const Descriptor* one : table()) {
    const auto codec = *make(one->name);
    std::vector<std::uint32_t> words(static_cast<std::size_t>(codec->words(16)));
    if (words.empty() || !codec->choose_from_range({-3.0f, 2.5f}, words).ok()) continue;
    const auto values = codec->ungrouped(words);
    if (!values) continue;
    const Range range = codec->range(words);
    if (values->format.empty()) {
      EXPECT_EQ(std::ldexp(values->low, values->exponent), range.low) << one->name;
      EXPECT_EQ(std::ldexp(values->high, values->exponent), range.high) << one->name;
    } else {
      const Range plain = (*make(values->format, values->parameters))->range({});
      EXPECT_EQ(plain.low * values->factor, range.low) << one->name;
      EXPECT_EQ(plain.high * values->factor, range.high) << one->name;
    }
  }
}

TEST(FormatTable, GammasOfValuesNotKnownInAdvanceHalve) {
  Values given = {{"levels", std::int64_t{3}}};
  (*find("binary_residual"))->settle(given);
  EXPECT_EQ(std::get<std::string>(given["gammas"]), "0.5,0.25,0.125");
  EXPECT_TRUE(std::get<bool>(given["clip"]));
}

}  // namespace
}  // namespace anybit::formats
