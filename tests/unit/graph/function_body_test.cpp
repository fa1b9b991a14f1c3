#include "graph/function_body.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace anybit::graph {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> operators(const Function& function) {
  std::vector<std::string> list;
  for (const Node& one : function.nodes) list.push_back(one.op_type.str());
  return list;
}

TEST(FunctionBody, IsWrittenLikeAFormula) {
  FunctionBody body;
  const Term x = body.input("x");
  const Function made = std::move(body).finish(round(x / 2) * 2);
  EXPECT_THAT(operators(made), ElementsAre("Constant", "Div", "Round", "Mul"));
  EXPECT_THAT(made.inputs, ElementsAre("x"));
  EXPECT_THAT(made.outputs, ElementsAre("y"));
  EXPECT_EQ(made.nodes[3].inputs[1], made.nodes[0].outputs[0]) << "a constant is made once";
}

TEST(FunctionBody, HasNoUnusedNodes) {
  FunctionBody body;
  const Term x = body.input("x");
  abs(x);
  EXPECT_THAT(operators(std::move(body).finish(-x)), ElementsAre("Neg"));
}

TEST(FunctionBody, ImportsTheOpsetThatItsOperatorsNeed) {
  FunctionBody plain, reducing;
  EXPECT_EQ(std::move(plain).finish(abs(plain.input("x"))).opsets[0].version, 13);
  EXPECT_EQ(std::move(reducing).finish(reduce("ReduceMax", reducing.input("x"), {0})).opsets[0].version, 18);
}

}  // namespace
}  // namespace anybit::graph
