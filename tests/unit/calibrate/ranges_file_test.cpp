#include "calibrate/ranges_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "unit/base/scratch.hpp"
#include "unit/calibrate/values.hpp"

namespace anybit::calibrate {
namespace {

using ::testing::HasSubstr;
using testing::statistics_of;

const std::string kHash(64, 'a');

Ranges some() {
  Ranges ranges;
  ranges.model = kHash;
  ranges.samples = 3;
  ranges.tensors["relu"] = statistics_of(testing::rectified(5000));
  std::vector<float> wide = testing::normal(3000);
  wide[0] = std::numeric_limits<float>::max();
  wide[1] = -1e-38f;
  wide[2] = 1e-42f;
  ranges.tensors["wide \"name\"/ü"] = statistics_of(wide);
  ranges.tensors["zeros"] = statistics_of(std::vector<float>(2000, 0.0f));
  ranges.tensors["unseen"] = {};
  Statistics bad = statistics_of({1, NAN, INFINITY, -2});
  bad.extent.add_bad(1, "sample 1");
  ranges.tensors["bad"] = bad;
  Statistics plain = statistics_of({0.1f, 0.2f});
  plain.has_bins = false;
  plain.bins = {};
  ranges.tensors["plain"] = plain;
  return ranges;
}

void expect_same(const Ranges& a, const Ranges& b) {
  EXPECT_EQ(a.model, b.model);
  EXPECT_EQ(a.samples, b.samples);
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (const auto& [name, one] : a.tensors) EXPECT_EQ(one, b.tensors.at(name)) << name;
}

TEST(RangesFile, RoundTrips) {
  const auto text = to_text(some());
  ASSERT_TRUE(text.ok());
  const auto back = parse_ranges(*text);
  ASSERT_TRUE(back.ok()) << back.error().text();
  expect_same(*back, some());
  EXPECT_EQ(*to_text(*back), *text);
}

TEST(RangesFile, IsSavedAndLoaded) {
  const Scratch folder;
  const std::string path = folder.file("ranges.json");
  ASSERT_TRUE(save_ranges(some(), path).ok());
  const auto back = load_ranges(path);
  ASSERT_TRUE(back.ok()) << back.error().text();
  expect_same(*back, some());
  std::ofstream(path) << "{";
  EXPECT_THAT(load_ranges(path).error().text(), HasSubstr(path));
}

TEST(RangesFile, RejectsANameThatIsNotUtf8) {
  Ranges ranges = some();
  ranges.tensors["\xFF"] = {};
  EXPECT_FALSE(to_text(ranges).ok());
}

TEST(RangesFile, MergedPartsAreTheWhole) {
  const std::vector<float> values = testing::normal(9000);
  const std::vector<float> first(values.begin(), values.begin() + 4000),
      rest(values.begin() + 4000, values.end());
  Ranges a, b;
  a.model = b.model = kHash;
  a.samples = b.samples = 1;
  a.tensors["x"] = statistics_of(first);
  b.tensors["x"] = statistics_of(rest);
  b.tensors["branch"] = statistics_of(rest);  // the first shard did not enter it
  a.tensors["branch"] = {};
  ASSERT_TRUE(merge(a, b).ok());
  EXPECT_EQ(a.samples, 2);
  EXPECT_EQ(a.tensors["x"].bins, statistics_of(values).bins);
  EXPECT_EQ(a.tensors["branch"], b.tensors["branch"]);
}

TEST(RangesFile, RangesOfAnotherModelAreRejected) {
  Ranges a = some(), b = some();
  b.model[5] = 'b';
  EXPECT_THAT(merge(a, b).error().text(), HasSubstr("different models"));
  expect_same(a, some());
  EXPECT_TRUE(check_belongs(a, kHash).ok());
  EXPECT_THAT(check_belongs(a, b.model).error().text(), HasSubstr("another model"));
}

// The first difference of two texts, for messages.
std::string difference(const std::string& a, const std::string& b) {
  const auto at = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
  return a.substr(static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, at - a.begin() - 40)), 100);
}

TEST(RangesFile, DamageIsDetected) {
  const std::string text = *to_text(some());
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return changed.replace(at, from.size(), to);
  };
  for (const std::string& one : {
           std::string(),
           std::string("[]"),
           std::string("null"),
           text.substr(0, text.size() / 2),
           with("anybit ranges", "something"),
           with("\"version\": 1", "\"version\": 2"),
           with("\"version\": 1", "\"version\": -1"),
           with(kHash, kHash.substr(1)),
           with(kHash, "A" + kHash.substr(1)),
           with("\"samples\": 3", "\"samples\": 0"),
           with("\"count\": ", "\"count\": 1"),
           with("\"count\": 5000", "\"count\": 4999"),
           with("\"count\": 5000", "\"count\": 5e3"),
           with("\"count\": 5000", "\"count\": 99999999999999999999"),
           with("\"zeros\": ", "\"zeros\": 9"),
           with("\"min\": ", "\"min\": 9e9, \"was\": "),
           with("\"max\": ", "\"max\": null, \"was\": "),
           with("\"min\": 0.0", "\"min\": 0.1"),
           with("\"momentum\": 0.01", "\"momentum\": 7"),
           with("{\"value\": ", "{\"value\": 7, \"was\": "),
           with("{\"value\": ", "{\"value\": -1e39, \"was\": "),
           with("\"first\": ", "\"first\": 1e39, \"was\": "),
           with("\"max\": {\"value\": ", "\"max\": {\"value\": -2.5, \"was\": "),
           with("\"bins\": {", "\"bins\": {\"7f80\": \"1\","),
           with("\"bins\": {", "\"bins\": {\"0000\": \"1\","),
           with("\"bins\": {", "\"bins\": {\"3f8\": \"1\","),
           with("\"bins\": {", "\"bins\": {\"2000\": [1],"),
           with("\"bins\": {", "\"bins\": {\"2000\": \"-1\","),
           with("\"bins\": {", "\"bins\": {\"2000\": \"1  1\","),
           with("\"bins\": {", "\"bins\": {\"207f\": \"0 0\","),
           with("\"bins\": {", "\"bins\": 5, \"was\": {"),
           with("\"nans\": 1", "\"nans\": 0"),
           with("\"text\": ", "\"words\": "),
       }) {
    EXPECT_FALSE(parse_ranges(one).ok()) << difference(one, text);
  }
}

TEST(RangesFile, MaliciousTextIsRejectedInBoundedMemory) {
  EXPECT_FALSE(parse_ranges(std::string(1'000'000, '[')).ok());
  std::string wide = "[";
  for (int i = 0; i < 100'000; ++i) wide += "{\"a\":";
  EXPECT_FALSE(parse_ranges(wide).ok());
}

TEST(RangesFile, AnythingReadFromModifiedTextIsConsistent) {
  const std::string text = *to_text(some());
  std::mt19937 random(11);
  int read = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string changed = text;
    for (int k = 0; k < 3; ++k) changed[random() % changed.size()] = static_cast<char>(' ' + random() % 95);
    const auto back = parse_ranges(changed);
    if (!back.ok()) continue;
    ++read;
    for (const auto& [name, one] : back->tensors) {
      EXPECT_LE(one.extent.min, one.extent.max);
      EXPECT_GE(one.extent.finite(), one.extent.zeros);
      if (one.has_bins) {
        EXPECT_EQ(static_cast<std::int64_t>(one.bins.total()), one.extent.finite() - one.extent.zeros)
            << "seed 11, round " << i;
      }
    }
  }
  EXPECT_GT(read, 0);  // blanks and names may change
}

}  // namespace
}  // namespace anybit::calibrate
