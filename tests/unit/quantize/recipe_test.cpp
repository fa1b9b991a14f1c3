#include "quantize/recipe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quantize/match.hpp"

namespace anybit::quantizing {
namespace {

using ::testing::HasSubstr;

Recipe recipe(const std::string& text) {
  auto read = read_recipe(text, "test");
  EXPECT_TRUE(read.ok()) << read.error().text();
  return *read;
}

std::string weight_of(const std::string& text, const Subject& subject) {
  const Recipe rules = recipe(text);
  auto matcher = Matcher::make(rules);
  EXPECT_TRUE(matcher.ok());
  return to_string(*matcher->scheme(subject).weight);
}

TEST(Recipe, EveryPresetParses) {
  for (const Preset& preset : presets()) {
    const auto read = find_recipe(preset.name);
    ASSERT_TRUE(read.ok()) << preset.name << ": " << read.error().text();
    EXPECT_EQ(read->rules.size(), 1U);
  }
}

TEST(Recipe, ASpecRoundTripsThroughText) {
  for (const char* text :
       {"int8 sym channel", "int4 sym block 32", "uint8 asym", "float", "int8 asym percentile 99.9",
        "uint8 sym dynamic", "int8 sym full", "int16 sym mse"}) {
    const auto spec = parse_spec(text);
    ASSERT_TRUE(spec.ok()) << text << ": " << spec.error().text();
    EXPECT_EQ(to_string(*spec), text);
  }
}

TEST(Recipe, TheMostSpecificRuleWins) {
  const std::string text =
      "name: {enc.0: {weights: int2 sym}}\n"
      "global: {weights: int8 sym channel}\n"
      "type: {Conv: {weights: int16 sym}}\n"
      "regex: {'enc/.*': {weights: int4 sym}}\n";
  EXPECT_EQ(weight_of(text, {"dec/conv", {"Conv"}}), "int16 sym");
  EXPECT_EQ(weight_of(text, {"enc/1/conv", {"Conv"}}), "int4 sym");
  EXPECT_EQ(weight_of(text, {"enc/0/conv", {"Conv"}}), "int2 sym");
  EXPECT_EQ(weight_of(text, {"dec/fc", {"Gemm"}}), "int8 sym channel");
}

TEST(Recipe, AmongEqualsTheLaterRuleWins) {
  EXPECT_EQ(weight_of("global: int8\nname: {'a*': float, 'ab': w4}", {"ab", {"Conv"}}), "int4 sym block 32");
  EXPECT_EQ(weight_of("global: int8\nname: {'ab': w4, 'a*': float}", {"ab", {"Conv"}}), "float");
}

TEST(Recipe, PartsThatARuleDoesNotSetAreInherited) {
  const Recipe rules = recipe("global: int8\ntype: {MatMul: {weights: int4 sym channel}}");
  auto matcher = Matcher::make(rules);
  ASSERT_TRUE(matcher.ok());
  const Scheme scheme = matcher->scheme({"m", {"MatMul"}});
  EXPECT_EQ(to_string(*scheme.weight), "int4 sym channel");
  EXPECT_EQ(to_string(*scheme.data_in), "int8 asym");
}

TEST(Recipe, ANameCoversAllBelowItAndDotsAreSlashes) {
  const std::string text = "global: int8\nname: {blocks.sub: float}";
  EXPECT_EQ(weight_of(text, {"/blocks/sub/conv", {"Conv"}}), "float");
  EXPECT_EQ(weight_of(text, {"/blocks/sub", {"Conv"}}), "float");
  EXPECT_EQ(weight_of(text, {"/blocks/subway", {"Conv"}}), "int8 sym channel");
}

TEST(Recipe, ANameCoversTheModulesThatANodeComesFrom) {
  const std::string text = "global: int8\nname: {blocks.sub: float, seq.0: w4}";
  EXPECT_EQ(weight_of(text, {"node_conv2d_1", {"Conv"}, "blocks.sub.conv", {}}), "float");
  EXPECT_EQ(weight_of(text, {"node_conv2d_1", {"Conv"}, "blocks.subway", {}}), "int8 sym channel");
  EXPECT_EQ(weight_of(text, {"/seq/seq.0/seq.0.1/Gemm", {"Gemm"}}), "int4 sym block 32");
}

TEST(Recipe, ATypeMayBeAClassOfModules) {
  const Classes classes = {"models.Block", "models.Add"};
  const auto weight = [&](const std::string& type, const Subject& subject) {
    const Recipe rules = recipe("global: int8\ntype: {" + type + ": float}");
    auto matcher = Matcher::make(rules, classes);
    EXPECT_TRUE(matcher.ok()) << matcher.error().text();
    return to_string(*matcher->scheme(subject).weight);
  };
  const Subject inside{"node", {"Conv"}, "stem.conv", {"models.Net", "models.Block", "torch.nn.Conv2d"}};
  EXPECT_EQ(weight("models.Block", inside), "float");
  EXPECT_EQ(weight("Block", inside), "float");
  EXPECT_EQ(weight("other.Block", inside), "int8 sym channel");
  const Subject sum{"node", {"Conv"}, "sum", {"models.Net", "models.Add"}};
  EXPECT_EQ(weight("Add", sum), "int8 sym channel");  // the operator
  EXPECT_EQ(weight("models.Add", sum), "float");
}

TEST(Recipe, AnUnknownTypeIsRefusedWithTheNearestClass) {
  const Recipe rules = recipe("type: {Blok: int8}");
  const auto refused = Matcher::make(rules, {"models.Block"});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().text(), HasSubstr("did you mean 'Block'"));
  const Recipe by_class = recipe("type: {models.Block: int8}");
  const auto untold = Matcher::make(by_class);
  ASSERT_FALSE(untold.ok());
  EXPECT_THAT(untold.error().text(), HasSubstr("do not name the classes of their modules"));
}

TEST(Recipe, RulesThatMatchNothingAreReported) {
  const Recipe by_name = recipe("global: int8\nname: {nowhere: float}");
  auto matcher = Matcher::make(by_name);
  ASSERT_TRUE(matcher.ok());
  matcher->scheme({"a", {"Conv"}});
  const auto unused = matcher->unused();
  ASSERT_FALSE(unused.ok());
  EXPECT_THAT(unused.error().text(), HasSubstr("nowhere"));

  const Recipe by_type = recipe("global: int8\ntype: {Softmax: float}");
  auto types = Matcher::make(by_type);
  ASSERT_TRUE(types.ok());
  types->scheme({"a", {"Conv"}});
  const auto lines = types->unused();
  ASSERT_TRUE(lines.ok());
  ASSERT_EQ(lines->size(), 1U);
  EXPECT_THAT(lines->front(), HasSubstr("Softmax"));
}

TEST(Recipe, HostileTextsAreRefused) {
  EXPECT_FALSE(read_recipe(std::string(100'000, '['), "deep").ok());
  EXPECT_FALSE(read_recipe(std::string(2 << 20, 'a'), "long").ok());
  EXPECT_FALSE(read_recipe("a: &a [*a, *a]", "alias").ok());
  EXPECT_FALSE(read_recipe("- 1\n- 2", "list").ok());
}

}  // namespace
}  // namespace anybit::quantizing
