#include "anybit/model.hpp"

#include <gtest/gtest.h>

#include "anybit/inspect.hpp"
#include "anybit/version.hpp"
#include "base/guard.hpp"
#include "io/onnx/save.hpp"
#include "unit/ops/graphs.hpp"

namespace anybit {
namespace {

using namespace ops::testing;

std::string small_model() {
  graph::Graph graph;
  graph.name = graph::Text("g");
  graph.inputs = {value("x", {"n", "4"})};
  graph.initializers = {floats("w", {4, 2})};
  graph.nodes = {node("MatMul", {"x", "w"}, {"y"})};
  graph.outputs = {value("y", {"n", "2"})};
  auto bytes = onnx::serialize(model(graph));
  EXPECT_TRUE(bytes.ok());
  return std::move(bytes).value();
}

TEST(Model, ComesFromBytesAndGoesBackUnchanged) {
  const std::string bytes = small_model();
  const auto loaded = Model::from_bytes(bytes);
  ASSERT_TRUE(loaded.ok()) << loaded.error().text();
  const Model copy = *loaded;
  const auto again = copy.to_bytes();
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, bytes);
}

TEST(Model, AnswersWithAnErrorWhereThereIsNoModel) {
  EXPECT_EQ(Model::load("/nowhere/model.onnx").error().code, Code::not_found);
  EXPECT_FALSE(Model::from_bytes("not a model").ok());
}

TEST(Inspect, ReportsParametersAndWorkOnceTheBatchIsFixed) {
  const auto loaded = Model::from_bytes(small_model());
  ASSERT_TRUE(loaded.ok());
  const auto open = inspect(*loaded);
  ASSERT_TRUE(open.ok());
  EXPECT_EQ(open->parameter_elements, 8);
  EXPECT_EQ(open->parameter_bytes, 32);
  EXPECT_EQ(open->unknown_macs, 1);
  const auto fixed = inspect(*loaded, {{}, {{"n", 10}}});
  ASSERT_TRUE(fixed.ok());
  EXPECT_EQ(fixed->unknown_macs, 0);
  EXPECT_EQ(fixed->macs, 10 * 4 * 2);
  EXPECT_EQ(fixed->inputs[0].type, "float32[10, 4]");
  EXPECT_EQ(fixed->outputs[0].type, "float32[10, 2]");
}

TEST(Guard, TurnsMissingMemoryIntoAnError) {
  const Result<int> result = guarded([]() -> Result<int> { throw std::bad_alloc(); });
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, Code::out_of_memory);
}

TEST(Version, IsFormattedFromItsNumbers) {
  const Version v = version();
  EXPECT_EQ(v.text, std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch));
}

}  // namespace
}  // namespace anybit
