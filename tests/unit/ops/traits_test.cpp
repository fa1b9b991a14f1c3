// The traits that operators declare for quantization.
#include "ops/traits.hpp"

#include <gtest/gtest.h>

#include <map>

#include "ops/table.hpp"

namespace anybit::ops {
namespace {

using Role = Traits::Role;

graph::Node node(std::string_view type,
                 std::vector<std::pair<std::string, graph::Attribute::Value>> with = {}) {
  graph::Node made;
  made.op_type = graph::Text(type);
  for (auto& [name, value] : with) {
    graph::Attribute one;
    one.name = graph::Text(name);
    one.value = std::move(value);
    made.attributes.push_back(std::move(one));
  }
  return made;
}

TEST(Traits, ReferToExistingInputs) {
  for (const Descriptor* one : table()) {
    const Traits& traits = one->traits;
    if (traits.role == Role::none) {
      EXPECT_TRUE(traits.weights.empty() && traits.bias < 0 && !traits.range && !traits.clamps) << one->name;
      continue;
    }
    EXPECT_NE(one->domain, "ai.anybit") << one->name;
    EXPECT_TRUE(one->quantized.empty()) << one->name << " is quantized already";
    EXPECT_FALSE(traits.data.empty() && traits.weights.empty()) << one->name;
    for (const int input : traits.data) {
      EXPECT_GE(input, -1) << one->name;
      EXPECT_LT(input, 5) << one->name;
      EXPECT_NE(input, traits.bias < 0 ? -2 : traits.bias) << one->name << ": a bias is not a data input";
    }
    for (const Traits::Weight& weight : traits.weights) {
      EXPECT_GE(weight.input, 0) << one->name;
      EXPECT_NE(weight.input, traits.bias) << one->name;
    }
  }
}

TEST(Traits, AnElementwiseFunctionHasOneDataInputAndNoWeights) {
  for (const Descriptor* one : table()) {
    if (one->traits.role != Role::element) continue;
    EXPECT_EQ(one->traits.data, Inputs{0}) << one->name;
    EXPECT_TRUE(one->traits.weights.empty()) << one->name;
    EXPECT_TRUE(one->traits.by_element) << one->name;
    EXPECT_EQ(one->required, 1u) << one->name;
  }
}

TEST(Traits, PassThroughOfIntegersStartsAtAVersionOfTheOperator) {
  for (const Descriptor* one : table()) {
    const Traits::PassThrough& pass_through = one->traits.pass_through;
    if (pass_through.since == 0 && !pass_through.ours) continue;
    EXPECT_EQ(one->traits.role, Role::move) << one->name;
    EXPECT_EQ(one->domain, "") << one->name;
    EXPECT_TRUE(pass_through.since == 0 ||
                std::ranges::find(one->since, pass_through.since) != one->since.end())
        << one->name;
  }
}

// GatherND was once missing for the runtime, ReduceMax for generated code.
TEST(Traits, PassThroughOperatorsTakeQuantizedValuesWhereOnnxAllowsIt) {
  const auto moves = [](const graph::Node& of, std::int64_t version) {
    return find("", of.op_type.str())->traits.passes_quantized(of, version);
  };
  EXPECT_TRUE(moves(node("GatherND"), 11));
  EXPECT_TRUE(moves(node("ReduceMax"), 12));
  EXPECT_FALSE(moves(node("ReduceMax"), 11));
  EXPECT_TRUE(moves(node("Resize"), 10));
  EXPECT_FALSE(moves(node("Resize", {{"mode", std::string("linear")}}), 10));
  EXPECT_FALSE(moves(node("Trilu"), 14)) << "it fills with 0.0, which is not the quantized value 0";
  EXPECT_FALSE(moves(node("GlobalMaxPool"), 22)) << "ONNX defines it for floats only";
  EXPECT_FALSE(moves(node("ScatterND", {{"reduction", std::string("add")}}), 16));
}

TEST(Traits, AnAliasBelongsToOneOperator) {
  std::map<std::string_view, std::string_view> named;
  for (const Descriptor* one : table()) {
    const std::string_view alias = one->traits.alias;
    if (alias.empty()) continue;
    EXPECT_EQ(named.emplace(alias, one->name).first->second, one->name) << alias;
    EXPECT_EQ(find("", alias), nullptr) << alias;
    EXPECT_NE(one->traits.role, Role::none) << one->name;
  }
  EXPECT_EQ(named["silu"], "Swish");
}

TEST(Traits, ALinearOperatorHasWeightsAndCountsItsMultiplications) {
  for (const Descriptor* one : table()) {
    if (one->traits.linear == Traits::Linear::none) continue;
    EXPECT_NE(one->macs, nullptr) << one->name;
    EXPECT_NE(one->traits.weight(1), nullptr) << one->name;
  }
}

TEST(Traits, AFixedRangeContainsZeroAndIsNotOfAPassThroughOperator) {
  for (const Descriptor* one : table()) {
    if (!one->traits.range) continue;
    EXPECT_LE(one->traits.range->low, 0.0f) << one->name;
    EXPECT_GT(one->traits.range->high, 0.0f) << one->name;
    EXPECT_NE(one->traits.role, Role::move) << one->name;
  }
}

TEST(Traits, ChannelAxesLieWithinTheWeight) {
  for (const Descriptor* one : table()) {
    for (const Traits::Weight& weight : one->traits.weights) {
      for (std::size_t rank = 2; weight.channel_axis && rank <= 5; ++rank) {
        const std::int64_t axis = weight.channel_axis(node(one->name), rank);
        EXPECT_GE(axis, 0) << one->name;
        EXPECT_LT(axis, static_cast<std::int64_t>(rank)) << one->name;
      }
    }
  }
}

std::int64_t axis(const graph::Node& of, int input, std::size_t rank) {
  return find("", of.op_type.str())->traits.weight(input)->channel_axis(of, rank);
}

TEST(Traits, OutputChannelsFollowTheNodesAttributes) {
  EXPECT_EQ(axis(node("Conv"), 1, 4), 0);
  EXPECT_EQ(axis(node("ConvTranspose"), 1, 4), 1);
  EXPECT_EQ(axis(node("MatMul"), 1, 2), 1);
  EXPECT_EQ(axis(node("MatMul"), 1, 3), 2);
  EXPECT_EQ(axis(node("MatMul"), 1, 1), -1);
  EXPECT_EQ(axis(node("Gemm"), 1, 2), 1);
  EXPECT_EQ(axis(node("Gemm", {{"transB", std::int64_t{1}}}), 1, 2), 0);
  EXPECT_EQ(axis(node("Gather"), 0, 2), 0);
  EXPECT_EQ(axis(node("Gather", {{"axis", std::int64_t{-1}}}), 0, 2), 1);
  EXPECT_EQ(axis(node("LSTM"), 2, 3), 1);
}

TEST(Traits, TheRoleFollowsTheNodesAttributes) {
  const auto role = [](const graph::Node& of) { return find("", of.op_type.str())->traits.role_in(of); };
  EXPECT_EQ(role(node("Conv")), Role::compute);
  EXPECT_EQ(role(node("Resize")), Role::move);
  EXPECT_EQ(role(node("Resize", {{"mode", std::string("linear")}})), Role::move);
  EXPECT_EQ(role(node("Resize", {{"mode", std::string("cubic")}})), Role::compute);
  EXPECT_EQ(role(node("Pad", {{"value", 0.0f}})), Role::move);
  EXPECT_EQ(role(node("Pad", {{"value", 1.0f}})), Role::none);
  EXPECT_EQ(role(node("ScatterND")), Role::move);
  EXPECT_EQ(role(node("ScatterND", {{"reduction", std::string("add")}})), Role::none);
  EXPECT_EQ(role(node("Shape")), Role::none);
}

}  // namespace
}  // namespace anybit::ops
