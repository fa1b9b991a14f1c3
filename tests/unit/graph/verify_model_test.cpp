// Rules for the model: versions, imports, metadata, training information.
#include <gtest/gtest.h>

#include "unit/graph/sample_models.hpp"

namespace anybit::graph {
namespace {

using namespace testing;

TEST(VerifyModel, ASmallModelIsValid) { expect_sound(small_model()); }

TEST(VerifyModel, IrVersionsThreeToThirteenAreSupported) {
  Model model = small_model();
  for (std::int64_t version = 3; version <= 13; ++version) {
    model.ir_version = version;
    expect_sound(model);
  }
  for (std::int64_t version : {-1, 0, 2, 14}) {
    model.ir_version = version;
    expect_error(model, Code::unsupported, "model", "IR version " + std::to_string(version), "3 to 13");
  }
  model.ir_version.reset();
  expect_invalid(model, "model", "no IR version");
}

TEST(VerifyModel, OperatorsMustBeImported) {
  Model model = small_model();
  model.opsets.clear();
  expect_invalid(model, "model", "imports no operators");
  model.opsets = {opset("com.example", 1)};
  expect_invalid(model, "graph 'main' > node '/relu' (Relu)", "domain '' is imported", "opset_import");
  model.opsets = {opset("ai.onnx", 17)};
  expect_sound(model);
}

TEST(VerifyModel, OpsetVersionsStartAtOne) {
  Model model = small_model();
  model.opsets.push_back(opset("dom", 0));
  expect_invalid(model, "model > opset_import 1", "version 0 of the domain 'dom'");
  model.opsets[1].version.reset();
  expect_invalid(model, "model > opset_import 1", "version 0");
}

TEST(VerifyModel, ADomainHasOneVersion) {
  Model model = small_model();
  model.opsets.push_back(opset("ai.onnx", 18));
  expect_invalid(model, "model > opset_import 1", "versions 17 and 18");
  model.opsets[1] = opset("", 17);  // redundant, but consistent
  expect_sound(model);
}

TEST(VerifyModel, ThereMustBeAGraph) {
  Model model = small_model();
  model.graph.reset();
  expect_invalid(model, "model", "no graph");
}

TEST(VerifyModel, MetadataKeysAreDifferent) {
  const std::vector<Property> twice = {property("k", "1"), property("k", "2")};
  Model model = small_model();
  model.metadata = twice;
  expect_invalid(model, "model", "metadata key 'k' is there twice");
  model = small_model();
  model.graph->metadata = twice;
  expect_invalid(model, "graph 'main'", "metadata key 'k'");
  model = small_model();
  model.graph->nodes[1].metadata = twice;
  expect_invalid(model, "graph 'main' > node '/add' (Add)", "metadata key 'k'");
  model = small_model();
  model.graph->inputs[0].metadata = twice;
  expect_invalid(model, "graph 'main' > input 'x'", "metadata key 'k'");
}

TEST(VerifyModel, NamesInMessagesAreHarmless) {
  Model model = small_model();
  model.graph->name = "a\x1b[2Jb";
  model.graph->nodes[0].inputs = {"\n" + std::string(100'000, 'n')};
  const auto result = verify(model);
  ASSERT_FALSE(result.ok());
  EXPECT_LT(result.error().text().size(), 2'000U);
  EXPECT_EQ(result.error().place.find('\x1b'), std::string::npos);
  EXPECT_EQ(result.error().message.find('\n'), std::string::npos);
}

Model model_with_training() {
  Model model = small_model();
  TrainingInfo training;
  Graph initialization;
  initialization.nodes = {node("Constant", {}, {"w0"})};
  initialization.outputs = {value("w0")};
  training.initialization = GraphBox(std::move(initialization));
  training.algorithm = GraphBox(branch("w", "w_new"));
  training.initialization_bindings = {property("w", "w0")};
  training.update_bindings = {property("w", "w_new")};
  model.training.push_back(std::move(training));
  return model;
}

TEST(VerifyModel, TrainingGraphsAreChecked) {
  expect_sound(model_with_training());
  Model model = model_with_training();
  (**model.training[0].algorithm).nodes[0].inputs = {"nowhere"};
  expect_invalid(model, "training_info 0 > algorithm 'branch' > node '/neg' (Neg)",
                 "nothing produces input 0 'nowhere'");
  model = model_with_training();
  (**model.training[0].initialization).nodes[0].inputs = {"w"};  // it does not see the model
  expect_invalid(model, "training_info 0 > initialization > node 0 (Constant)",
                 "nothing produces input 0 'w'");
}

TEST(VerifyModel, TrainingBindingsNameInitializersAndOutputs) {
  Model model = model_with_training();
  model.training[0].update_bindings = {property("x", "w_new")};
  expect_invalid(model, "training_info 0 > update_binding", "no initializer 'x'");
  model.training[0].update_bindings = {property("w", "w0")};
  expect_invalid(model, "training_info 0 > update_binding", "'w0' is not an output");
  model.training[0].update_bindings = {property("w", "w_new"), property("w", "w_new")};
  expect_invalid(model, "training_info 0 > update_binding", "initializer 'w' is there twice");
  model = model_with_training();
  model.training[0].initialization_bindings = {property("w", "w_new")};
  expect_invalid(model, "training_info 0 > initialization_binding", "'w_new' is not an output");
}

}  // namespace
}  // namespace anybit::graph
