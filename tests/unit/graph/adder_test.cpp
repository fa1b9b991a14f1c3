// Nodes, constants, inputs and outputs that are added to a graph.
#include "graph/adder.hpp"

#include <gtest/gtest.h>

#include "graph/constant.hpp"
#include "graph/node.hpp"

namespace anybit::graph {
namespace {

TEST(Adder, AddsUnderNamesThatAreNew) {
  Graph graph;
  Names names;
  ASSERT_TRUE(names.add("x"));
  Adder add(graph, names);
  const std::string x = add.input("x", ElementType::float32, {-1, 3});
  EXPECT_NE(x, "x");
  const std::string sum = add.op("ReduceSum", {x, add.integers({1})}), twice = add.op("Add", {sum, sum});
  add.output(twice, ElementType::float32, {-1});
  ASSERT_EQ(graph.nodes.size(), 2U);
  EXPECT_NE(sum, twice);
  EXPECT_EQ(graph.nodes[1].inputs, (std::vector<std::string>{sum, sum}));
  EXPECT_NE(graph.nodes[0].name.str(), graph.nodes[1].name.str());
  EXPECT_EQ(graph.outputs[0].name.str(), twice);
}

TEST(Adder, ConstantsHaveTheirElementsAndShape) {
  Graph graph;
  Names names;
  Adder add(graph, names);
  add.integers({4, 5, 6});
  add.floats("f", {2, 1}, {1, 2});
  add.number(0.5);
  ASSERT_EQ(graph.initializers.size(), 3U);
  EXPECT_EQ(graph.initializers[0].dims, std::vector<std::int64_t>{3});
  EXPECT_EQ(integers(&graph.initializers[0]), (std::vector<std::int64_t>{4, 5, 6}));
  EXPECT_EQ(graph.initializers[1].dims, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(number(&graph.initializers[2]), 0.5F);
}

// Inputs that are left out at the end are not written.
TEST(Adder, DropsEmptyInputsAtTheEnd) {
  Graph graph;
  Names names;
  Adder add(graph, names);
  add.add(make_node("Clip", {"x", "", ""}, {}), 1, "y");
  EXPECT_EQ(graph.nodes[0].inputs, std::vector<std::string>{"x"});
}

}  // namespace
}  // namespace anybit::graph
