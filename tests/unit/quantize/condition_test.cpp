#include "quantize/condition.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "quantize/match.hpp"
#include "quantize/recipe.hpp"

namespace anybit::quantizing {
namespace {

using ::testing::HasSubstr;

TEST(Bound, EveryComparisonHoldsForTheNumbersThatItNames) {
  struct Case {
    const char* text;
    std::vector<std::int64_t> holds, fails;
  };
  const Case cases[] = {{"3", {3}, {2, 4}},
                        {"==3", {3}, {-3}},
                        {"!=3", {2, -1}, {3}},
                        {">3", {4}, {3, -1}},
                        {">=3", {3, 9}, {2}},
                        {"<3", {2, -1}, {3}},
                        {"<=3", {3, 0}, {4}},
                        {"-1", {-1}, {0, 1}},
                        {"%32==0", {0, 32, 96}, {1, 33, -1}},
                        {"%5==2", {2, 7, 12}, {5}},
                        {"9223372036854775807", {INT64_MAX}, {0}}};
  for (const Case& one : cases) {
    const auto bound = parse_bound(one.text);
    ASSERT_TRUE(bound.ok()) << one.text << ": " << bound.error().text();
    for (const std::int64_t value : one.holds) EXPECT_TRUE(bound->holds(value)) << one.text << ", " << value;
    for (const std::int64_t value : one.fails) EXPECT_FALSE(bound->holds(value)) << one.text << ", " << value;
  }
}

TEST(Bound, WhatIsNoConditionIsAnError) {
  for (const char* text : {"", "=", "==", "3 ", " 3", "three", ">", "%", "%32", "%==0", "%32==", "%0==0",
                           "%-2==0", "%32!=0", "99999999999999999999", "=>3", "3.5"}) {
    const auto bound = parse_bound(text);
    EXPECT_FALSE(bound.ok()) << text;
  }
}

ops::Value value(graph::ElementType type, std::optional<ops::Shape> shape) {
  ops::Value made;
  made.type = type;
  made.shape = std::move(shape);
  return made;
}

TEST(TensorCondition, AnUnknownSizeIsMinusOneAndAnUnknownRankIsNoMatch) {
  const auto three = value(graph::ElementType::float32, ops::Shape{ops::Dim::named("n"), 3, 64});
  const auto unknown = value(graph::ElementType::float32, std::nullopt);
  TensorCondition one{.index = 0, .rank = *parse_bound(">=3")};
  EXPECT_TRUE(one.holds(&three));
  EXPECT_FALSE(one.holds(&unknown));
  EXPECT_FALSE(one.holds(nullptr));
  one.dims = {{0, *parse_bound("-1")}, {-1, *parse_bound("%64==0")}};
  EXPECT_TRUE(one.holds(&three));
  one.dims.emplace_back(-4, *parse_bound("1"));  // no such axis
  EXPECT_FALSE(one.holds(&three));
  EXPECT_TRUE((TensorCondition{.index = 0, .type = graph::ElementType::float32}).holds(&unknown));
  EXPECT_FALSE((TensorCondition{.index = 0, .type = graph::ElementType::int64}).holds(&three));
}

TEST(Condition, OnlyTheFirstRuleOfAListApplies) {
  const auto read = read_recipe(
      "nnpa_ops_config:\n"
      "- pattern: {match: {node_type: onnx.MatMul, onnx_node_name: a.*}, rewrite: {device: nnpa}}\n"
      "- pattern: {match: {node_type: onnx.(MatMul|Gemm)}, rewrite: {quantize: true}}\n",
      "test");
  ASSERT_TRUE(read.ok()) << read.error().text();
  EXPECT_EQ(read->target, "nnpa");
  auto matcher = Matcher::make(*read);
  ASSERT_TRUE(matcher.ok());
  EXPECT_EQ(to_string(*matcher->scheme({"a/1", {"MatMul"}}).weight), "float");
  EXPECT_EQ(to_string(*matcher->scheme({"b/1", {"MatMul"}}).weight), "int8 sym");
  EXPECT_EQ(to_string(*matcher->scheme({"a/1", {"Gemm"}}).data_in), "int8 asym dynamic");
}

TEST(Choose, TheFirstAlternativeStandsUntilOneIsChosen) {
  const auto read = read_recipe(
      "global: {choose: [{weights: int8 sym, activations: int8 asym dynamic}, float]}\n"
      "name: {left: float}\n",
      "test");
  ASSERT_TRUE(read.ok()) << read.error().text();
  auto matcher = Matcher::make(*read);
  const Scheme open = matcher->scheme({"any", {"Gemm"}}), closed = matcher->scheme({"left", {"Gemm"}});
  EXPECT_EQ(to_string(*open.weight), "int8 sym");
  ASSERT_TRUE(open.choose);
  EXPECT_EQ(open.choose->size(), 2U);
  EXPECT_FALSE(closed.choose);
  EXPECT_TRUE(closed.weight->is_float());
}

TEST(Choose, AlternativesAreDynamicIntegersOrFloat) {
  for (const auto& [text, said] : std::initializer_list<std::pair<const char*, const char*>>{
           {"global: {choose: float}", "a list of 2 to 16 schemes"},
           {"global: {choose: [float]}", "a list of 2 to 16 schemes"},
           {"global: {choose: [float, float]}", "float is the last"},
           {"global: {choose: [{weights: int8 sym, activations: int8 asym}, float]}",
            "float or dynamic 8-bit"},
           {"global: {choose: [{weights: mxint8, activations: int8 dynamic}, float]}",
            "float or dynamic 8-bit"},
           {"global: {choose: [{weight: int8, activations: int8 dynamic}, float]}",
            "did you mean 'weights'?"},
           {"global: {weights: int8, choose: [float, float]}", "'weights' beside 'choose'"}}) {
    const auto read = read_recipe(text, "test");
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_THAT(read.error().text(), HasSubstr(said)) << text;
  }
}

}  // namespace
}  // namespace anybit::quantizing
