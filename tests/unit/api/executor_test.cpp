#include "anybit/executor.hpp"

#include <gtest/gtest.h>

#include "base/poison.hpp"
#include "io/onnx/save.hpp"
#include "unit/count_allocations.hpp"
#include "unit/ops/graphs.hpp"

namespace anybit {
namespace {

using namespace ops::testing;

TEST(Executor, ARepeatedRunAllocatesOnlyTheResults) {
  graph::Graph graph;
  graph.inputs = {value("x", {"4", "4"}), value("another_input_with_a_long_name", {"4", "4"})};
  graph.initializers = {floats("w", {4, 2})};
  graph.nodes = {node("Add", {"x", "another_input_with_a_long_name"}, {"sum"}),
                 node("MatMul", {"sum", "w"}, {"y"})};
  graph.outputs = {value("y", {"4", "2"}), value("sum", {"4", "4"})};
  const auto bytes = onnx::serialize(model(graph));
  ASSERT_TRUE(bytes.ok());
  const auto loaded = Model::from_bytes(*bytes);
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  const auto executor = Executor::make(*loaded, {.threads = 1});
  ASSERT_TRUE(executor.ok());
  std::map<std::string, Value> inputs;
  for (const Port& port : executor->inputs()) inputs[port.name] = random_value(port, {}, 1).value();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(executor->run(inputs).ok());
  const std::int64_t before = anybit::testing::allocations;
  ASSERT_TRUE(executor->run(inputs).ok());
  // The vector of values; per value its dims and the owner of its elements. Under a sanitizer also the
  // elements: blocks are never reused.
  EXPECT_LE(anybit::testing::allocations - before, 1 + 2 * (kPoisons ? 3 : 2));
}

}  // namespace
}  // namespace anybit
