#include "runtime/edit.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/ops/graphs.hpp"

namespace anybit::runtime {
namespace {

using ops::testing::node;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Slot 0 is an input of three Adds, twice of the last, whose result is a program output.
class Adds : public ::testing::Test {
 protected:
  Adds() {
    for (int i = 0; i < 4; ++i) program.slots.emplace_back();
    for (int i = 0; i < 3; ++i) {
      nodes.push_back(node("Add", {"a", "b"}, {"c"}));
      Step& step = program.steps.emplace_back();
      step.descriptor = ops::find("", "Add");
      step.version = 14;
      step.inputs = {0, i == 2 ? 0 : i};
      step.outputs = {i + 1};
    }
    for (std::size_t i = 0; i < 3; ++i) program.steps[i].node = &nodes[i];
    program.outputs = {3};
  }
  std::vector<graph::Node> nodes;
  Program program;
};

TEST_F(Adds, ConsumersAreListedOncePerUse) {
  const Edit edit(program);
  EXPECT_THAT(edit.consumers(0), ElementsAre(0, 0, 1, 2, 2));
  EXPECT_EQ(edit.uses(0), 5);
  EXPECT_EQ(edit.only_consumer(1), 1);
  EXPECT_THAT(edit.consumers(3), ElementsAre(-1));
  EXPECT_EQ(edit.only_consumer(2), -1);
}

TEST_F(Adds, ARemovedStepUsesNothing) {
  Edit edit(program);
  edit.remove(0);
  edit.remove(0);
  EXPECT_EQ(edit.uses(0), 3);
  EXPECT_THAT(edit.consumers(0), ElementsAre(1, 2, 2));
  EXPECT_EQ(edit.producer(1), -1);
  edit.remove(2);
  EXPECT_EQ(edit.only_consumer(0), 1);
  edit.remove(1);
  EXPECT_THAT(edit.consumers(0), IsEmpty());
}

TEST_F(Adds, AReplacedStepUsesOnlyItsNewInputs) {
  Edit edit(program);
  ASSERT_TRUE(edit.replace(2, nodes[2], {0, 2}).ok());
  EXPECT_THAT(edit.consumers(0), ElementsAre(0, 0, 1, 2));
  EXPECT_EQ(edit.only_consumer(2), 2);
  ASSERT_TRUE(edit.replace(2, nodes[2], {1, 2}).ok());
  EXPECT_EQ(edit.uses(0), 3);
  EXPECT_THAT(edit.consumers(1), ElementsAre(1, 2));
  EXPECT_EQ(edit.producer(3), 2);
}

}  // namespace
}  // namespace anybit::runtime
