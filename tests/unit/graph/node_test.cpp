#include "graph/node.hpp"

#include <gtest/gtest.h>

#include "unit/graph/sample_models.hpp"

namespace anybit::graph {
namespace {

TEST(AsOperator, KeepsNamesAndAttributes) {
  Node conv = testing::node("Conv", {"x", "w"}, {"y"}, "/conv");
  set_attribute(conv, "group", std::int64_t{2});
  const Node fused = as_operator(conv, "FusedConv", kMicrosoft);
  EXPECT_TRUE(is(fused, "FusedConv", kMicrosoft));
  EXPECT_EQ(fused.name, "/conv");
  EXPECT_EQ(fused.inputs, conv.inputs);
  EXPECT_EQ(fused.outputs, conv.outputs);
  EXPECT_EQ(integer(fused, "group", 1), 2);
  EXPECT_TRUE(is(as_operator(fused, "Conv"), "Conv"));
}

// The domain is written as in the file: "ai.onnx" or empty.
TEST(AsOperator, KeepsTheSpellingOfTheDomain) {
  Node node = testing::node("Conv", {"x", "w"}, {"y"});
  node.domain = "ai.onnx";
  EXPECT_EQ(as_operator(node, "QLinearConv").domain, "ai.onnx");
}

}  // namespace
}  // namespace anybit::graph
