#include "graph/model.hpp"

#include <gtest/gtest.h>

namespace anybit::graph {
namespace {

TEST(Model, TheStandardDomainHasTwoSpellings) {
  Model model;
  model.opsets = {{"com.example", 3, {}}, {"ai.onnx", 17, {}}};
  EXPECT_EQ(model.opset(), 17);
  EXPECT_EQ(model.opset("ai.onnx"), 17);
  EXPECT_EQ(model.opset("com.example"), 3);
  EXPECT_EQ(model.opset("elsewhere"), std::nullopt);
}

TEST(Node, IsNamedInMessagesByNameOrElseByNumber) {
  Node node;
  node.op_type = "Conv";
  EXPECT_EQ(place_of(node, 17), "node 17 (Conv)");
  node.name = "/conv1";
  EXPECT_EQ(place_of(node, 17), "node '/conv1' (Conv)");
}

TEST(Node, FindsAttributesByName) {
  Node node;
  node.attributes.resize(2);
  node.attributes[1].name = "axis";
  EXPECT_EQ(node.attribute("axis"), &node.attributes[1]);
  EXPECT_EQ(node.attribute("group"), nullptr);
}

TEST(GraphBox, CopiesTheGraphButSharesItsData) {
  Graph graph;
  graph.name = "then";
  graph.initializers.resize(1);
  graph.initializers[0].data = Bytes::own(std::string(100, 'x'));
  GraphBox box(graph);
  const GraphBox copy = box;
  box->name = "else";
  EXPECT_EQ(copy->name, "then");
  EXPECT_EQ(copy->initializers[0].data.data(), box->initializers[0].data.data());
}

}  // namespace
}  // namespace anybit::graph
