// Quantization-aware training on a small convolutional net: what is trained is what is
// written.
#include "quantize/training.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <random>

#include "calibrate/gather.hpp"
#include "formats/table.hpp"
#include "lower/qdq.hpp"
#include "quantize/quantize.hpp"
#include "unit/ops/graphs.hpp"

namespace anybit::quantizing {
namespace {

using graph::make_tensor;
using ops::Array;
using ops::Datum;
using ops::testing::node;
using ops::testing::value;

const std::shared_ptr<ops::Memory> memory = ops::Memory::make();

std::vector<float> normal(std::size_t count, unsigned seed, float spread) {
  std::mt19937 random(seed);
  std::normal_distribution<float> one(0, spread);
  std::vector<float> all(count);
  for (float& x : all) x = one(random);
  return all;
}

graph::Tensor tensor(const std::string& name, std::vector<std::int64_t> dims, unsigned seed, float spread) {
  std::int64_t count = 1;
  for (const std::int64_t dim : dims) count *= dim;
  return graph::make_tensor(name, std::move(dims), normal(static_cast<std::size_t>(count), seed, spread));
}

// Conv, Relu, MaxPool, Conv, Relu, mean, Gemm: ten classes. `batch`: a number, or a name.
graph::Model network(const std::string& batch = "n") {
  graph::Graph graph;
  graph.inputs = {value("x", {batch, "2", "8", "8"})};
  graph.outputs = {value("y", {batch, "10"})};
  graph.initializers = {tensor("w1", {8, 2, 3, 3}, 1, 0.4F),  tensor("b1", {8}, 2, 0.2F),
                        tensor("w2", {16, 8, 3, 3}, 3, 0.2F), tensor("b2", {16}, 4, 0.2F),
                        tensor("w3", {10, 16}, 5, 0.8F),      tensor("b3", {10}, 6, 0.3F)};
  const std::vector<graph::Attribute> same{graph::attribute("pads", std::vector<std::int64_t>{1, 1, 1, 1})};
  graph.nodes = {node("Conv", {"x", "w1", "b1"}, {"c1"}, same),
                 node("Relu", {"c1"}, {"r1"}),
                 node("MaxPool", {"r1"}, {"p1"},
                      {graph::attribute("kernel_shape", std::vector<std::int64_t>{2, 2}),
                       graph::attribute("strides", std::vector<std::int64_t>{2, 2})}),
                 node("Conv", {"p1", "w2", "b2"}, {"c2"}, same),
                 node("Relu", {"c2"}, {"r2"}),
                 node("GlobalAveragePool", {"r2"}, {"g"}),
                 node("Flatten", {"g"}, {"f"}),
                 node("Gemm", {"f", "w3", "b3"}, {"y"}, {graph::attribute("transB", std::int64_t{1})})};
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    graph.nodes[i].name = graph::Text("node" + std::to_string(i));
  return ops::testing::model(std::move(graph), 21);
}

Sample sample_of(unsigned seed) {
  Array array = Array::make(*memory, graph::ElementType::float32, {1, 2, 8, 8}).value();
  std::ranges::copy(normal(128, 1000 + seed, 1), array.mutable_data<float>());
  return {{"x", Datum(array)}};
}

// Samples, `count` of them, as often as a new stream is made.
calibrate::NextSample stream(unsigned count) {
  return [count, next = 0U]() mutable -> Result<std::optional<Sample>> {
    if (next == count) return std::optional<Sample>();
    return std::optional(sample_of(next++));
  };
}

Recipe recipe_of(const std::string& text) { return read_recipe(text, "test").value(); }

Settings settings_with(const TrainingOptions& training, int threads = 1) {
  Settings settings;
  settings.executor.threads = threads;
  settings.functions = lower::Functions::Mode::left_out;
  settings.training = training;
  return settings;
}

TrainingOptions some_steps(std::int64_t steps) {
  TrainingOptions options;
  options.steps = steps;
  options.batch = 8;
  return options;
}

std::vector<float> outputs_of(const graph::Model& model, const runtime::ExecutorOptions& options = {}) {
  const auto executor = runtime::Executor::make(std::make_shared<const graph::Model>(model), options).value();
  std::vector<float> all;
  for (unsigned i = 0; i < 4; ++i) {
    const auto outputs = executor->run(sample_of(i));
    EXPECT_TRUE(outputs.ok()) << outputs.error().text();
    if (!outputs.ok()) return all;
    const auto elements = (*outputs)[0].array.elements<float>();
    all.insert(all.end(), elements.begin(), elements.end());
  }
  return all;
}

// The recipe of a format for weights and, where it has a form for them, for activations.
std::vector<std::string> recipes() {
  std::vector<std::string> all;
  for (const formats::Descriptor* one : formats::table()) {
    const auto codec = formats::make(one->name);
    if (!codec.ok() || !(*codec)->packable().ok()) continue;
    all.push_back(fmt::format("global: {{weights: {}}}", one->name));
  }
  for (const std::string more : {"{weights: int8 sym channel, activations: int8 asym}",
                                 "{weights: int4 sym channel, activations: int4 asym}",
                                 "{weights: uint8 asym tensor, activations: uint8 asym}",
                                 "{weights: int8 sym tensor, activations: int8 asym}",
                                 "{weights: int8 sym channel, activations: uint8 asym}",
                                 "{weights: int8 sym channel, activations: int8 sym}",
                                 "{weights: int16 sym channel, activations: int8 asym}",
                                 "{weights: uint8 asym tensor, activations: int8 asym}",
                                 "{weights: int16 sym channel, activations: int16 sym}",
                                 "{weights: int3 sym channel, activations: int5 asym}",
                                 "{weights: int4 sym block 8}",
                                 "{weights: uint8 sym channel, activations: uint8 asym dynamic}",
                                 "{weights: fp8_e4m3 channel, activations: fp8_e4m3 tensor minmax}",
                                 "{weights: ternary channel scale mean, activations: int8 asym}",
                                 "{weights: ternary channel scale mean, data_in: ternary scale mean}",
                                 "{weights: binary channel scale mean, data_in: binary scale mean}",
                                 "{weights: mxfp4_e2m1, data_in: mxfp4_e2m1}",
                                 "{weights: nvfp4, data_in: nvfp4}",
                                 "{weights: bfp16, data_in: bfp16}",
                                 "{weights: fixed frac auto, data_in: fixed frac 4}",
                                 "{weights: float16, data_in: float16, compute: float16}"})
    all.push_back("global: " + more);
  return all;
}

class EveryFormat : public ::testing::TestWithParam<std::string> {};

// The forward pass of the training graph is the model that is written, up to the order of float sums and to
// biases in 32 bits.
TEST_P(EveryFormat, TrainsWhatIsWritten) {
  const Recipe recipe = recipe_of(GetParam());
  Settings settings = settings_with({});
  settings.training.reset();
  Prepared prepared = prepare(network(), recipe, settings).value();
  LearnedScales().apply(prepared.annotation);
  ThreadPool pool(1);
  const auto names = watched(prepared.annotation);
  const auto statistics = calibrate::gather(prepared.model, names, stream(8)).value();
  QuantizationReport report;
  QuantizedWeights weights;
  const lower::GraphPlan plan =
      make_plan(prepared.annotation, statistics, pool, report, settings, weights).value();
  const auto written = [&](bool training) {
    graph::Model model = *prepared.model;
    graph::Names fresh(model);
    lower::Functions functions(model, lower::Functions::Mode::left_out);
    if (training) {
      EXPECT_TRUE(lower::to_training(*model.graph, plan, fresh, functions).ok());
      graph::OpsetImport import;
      import.domain = graph::Text("ai.anybit.training");
      import.version = 1;
      model.opsets.push_back(import);
    } else {
      EXPECT_TRUE(lower::to_qdq(*model.graph, plan, fresh, functions, {}).ok());
    }
    return model;
  };
  const std::vector<float> trained = outputs_of(written(true)),
                           expected = outputs_of(written(false), {.fuse = false});
  ASSERT_EQ(trained.size(), expected.size());
  double error = 0, power = 0;
  for (std::size_t i = 0; i < trained.size(); ++i) {
    error += std::pow(static_cast<double>(trained[i] - expected[i]), 2);
    power += std::pow(static_cast<double>(expected[i]), 2);
  }
  EXPECT_LT(error, 1e-4 * power) << GetParam();
}

INSTANTIATE_TEST_SUITE_P(Training, EveryFormat, ::testing::ValuesIn(recipes()));

TEST(Training, LowersTheLossAndIsWhatIsMeasuredAfterwards) {
  for (const char* text : {"global: {weights: ternary channel scale mean, activations: int8 asym}",
                           "global: {weights: int4 sym channel, activations: int4 asym}",
                           "global: {weights: mxfp4_e2m1}", "global: {weights: binary channel scale mean}"}) {
    const auto done = quantize(network(), recipe_of(text), stream(64), settings_with(some_steps(60)));
    ASSERT_TRUE(done.ok()) << text << ": " << done.error().text();
    const TrainingReport& report = *done->report.training;
    EXPECT_TRUE(report.trained) << text;
    EXPECT_LT(report.loss_after, 0.7 * report.loss_before) << text;
    EXPECT_EQ(report.steps, 60);
    EXPECT_FALSE(report.curve.empty());
  }
}

TEST(Training, HasTheSameBitsForAnyNumberOfThreads) {
  const Recipe recipe = recipe_of("global: {weights: int4 sym channel, activations: int4 asym}");
  const auto one = quantize(network(), recipe, stream(32), settings_with(some_steps(12), 1)).value();
  const auto three = quantize(network(), recipe, stream(32), settings_with(some_steps(12), 3)).value();
  EXPECT_EQ(outputs_of(one.model), outputs_of(three.model));
  EXPECT_EQ(one.report.training->loss_after, three.report.training->loss_after);
}

// The step of two batches is that of one batch with the samples of both, but for the order of sums.
TEST(Training, AddsUpTheGradientsOfSeveralBatches) {
  const Recipe recipe = recipe_of("global: {weights: ternary channel scale mean}");
  for (const char* optimizer : {"adam", "sgd"}) {
    TrainingOptions whole = some_steps(6);
    whole.batch = 16;
    whole.optimizer = optimizer;
    TrainingOptions halves = whole;
    halves.batch = 8;
    halves.accumulate = 2;
    const auto one = quantize(network(), recipe, stream(32), settings_with(whole));
    const auto two = quantize(network(), recipe, stream(32), settings_with(halves));
    ASSERT_TRUE(one.ok() && two.ok()) << two.error().text();
    const TrainingReport &first = *one->report.training, &second = *two->report.training;
    EXPECT_NEAR(first.loss_after, second.loss_after, 2e-3 * first.loss_after) << optimizer;
    EXPECT_LT(second.loss_after, 0.999 * second.loss_before) << optimizer;
  }
}

TEST(Training, RaisesABatchOfOne) {
  const Recipe recipe = recipe_of("global: {weights: ternary channel scale mean}");
  const auto fixed = quantize(network("1"), recipe, stream(32), settings_with(some_steps(12))).value();
  EXPECT_EQ(fixed.report.training->batch, 8);
}

struct StateFile {
  std::string path = (std::filesystem::temp_directory_path() /
                      fmt::format("anybit_training_{}", ::testing::UnitTest::GetInstance()->random_seed()))
                         .string();
  StateFile() { std::filesystem::remove(path); }
  ~StateFile() { std::filesystem::remove(path); }
};

TEST(Training, ResumedEndsWithTheBitsOfAnUninterruptedRun) {
  const StateFile file;
  const Recipe recipe = recipe_of("global: {weights: int4 sym channel, activations: int4 asym}");
  const auto whole = quantize(network(), recipe, stream(32), settings_with(some_steps(30))).value();
  TrainingOptions options = some_steps(30);
  options.checkpoint = file.path;
  options.on_step = [](const TrainingStep& step) { return step.step < 13; };
  const auto stopped = quantize(network(), recipe, stream(32), settings_with(options));
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, Code::cancelled);
  options.on_step = {};
  options.resume = true;
  const auto resumed = quantize(network(), recipe, stream(32), settings_with(options));
  ASSERT_TRUE(resumed.ok()) << resumed.error().text();
  EXPECT_EQ(outputs_of(whole.model), outputs_of(resumed->model));
  EXPECT_EQ(whole.report.training->loss_after, resumed->report.training->loss_after);
  EXPECT_EQ(whole.report.training->curve.size(), resumed->report.training->curve.size());
  options.seed = 1;
  const auto other = quantize(network(), recipe, stream(32), settings_with(options));
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, Code::invalid_argument);
}

TEST(Training, RefusesLabelsThatDoNotFit) {
  const Recipe recipe = recipe_of("global: {weights: ternary channel scale mean}");
  const auto refused = [&](std::vector<std::int64_t> labels) {
    TrainingOptions options = some_steps(5);
    options.labels = std::move(labels);
    const auto done = quantize(network(), recipe, stream(4), settings_with(options));
    return done.ok() ? std::string() : done.error().text();
  };
  EXPECT_NE(refused({1, 2, 3}).find("3 labels for 4 samples"), std::string::npos);
  EXPECT_NE(refused({1, 2, 3, 10}).find("label 10 of sample 3"), std::string::npos);
  EXPECT_NE(refused({1, 2, -1, 3}).find("label -1 of sample 2"), std::string::npos);
  EXPECT_EQ(refused({1, 2, 0, 3}), "");
}

TEST(Training, NeedsSamplesWithoutNan) {
  const Recipe recipe = recipe_of("global: {weights: ternary channel scale mean}");
  const auto none = quantize(network(), recipe, stream(0), settings_with(some_steps(5)));
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().text().find("training needs samples"), std::string::npos) << none.error().text();
  const calibrate::NextSample broken = [n = 0]() mutable -> Result<std::optional<Sample>> {
    if (n++ == 3) return std::optional<Sample>();
    Sample sample = sample_of(0);
    if (n == 2) sample.at("x").array.mutable_data<float>()[5] = std::nanf("");
    return std::optional(sample);
  };
  const auto nan = quantize(network(), recipe, broken, settings_with(some_steps(5)));
  ASSERT_FALSE(nan.ok());
  EXPECT_EQ(nan.error().code, Code::invalid_data);
  EXPECT_NE(nan.error().text().find("sample 1"), std::string::npos) << nan.error().text();
}

// A stream that fails in the middle is its error, not a shorter training.
TEST(Training, PassesOnTheErrorOfAStream) {
  const calibrate::NextSample failing = [n = 0]() mutable -> Result<std::optional<Sample>> {
    if (n++ == 5) return error_at(Code::io, {}, "the stream broke");
    return std::optional(sample_of(0));
  };
  const auto done = quantize(network(), recipe_of("global: {weights: ternary channel scale mean}"), failing,
                             settings_with(some_steps(5)));
  ASSERT_FALSE(done.ok());
  EXPECT_NE(done.error().text().find("the stream broke"), std::string::npos);
}

// Weights before an operator without a gradient stay; those behind it are trained.
TEST(Training, NamesAnOperatorWithoutAGradientAndTrainsTheRest) {
  graph::Model model = network();
  for (graph::Node& one : model.graph->nodes) {
    if (one.op_type.str() == "MaxPool")
      one = [&] {
        graph::Node lrn = node("LRN", one.inputs, one.outputs, {graph::attribute("size", std::int64_t{3})});
        lrn.name = graph::Text("strange");
        return lrn;
      }();
  }
  const auto done = quantize(model, recipe_of("global: {weights: ternary channel scale mean}"), stream(16),
                             settings_with(some_steps(20)));
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_TRUE(std::ranges::any_of(done->report.remarks, [](const std::string& one) {
    return one.find("node 'strange' (LRN) has no gradient") != std::string::npos;
  })) << fmt::format("{}", fmt::join(done->report.remarks, "\n"));
}

TEST(Training, GoesBackWhenItDiverges) {
  TrainingOptions options = some_steps(80);
  options.rate = 9;
  options.clip = 0;
  options.schedule = "constant";
  const auto done =
      quantize(network(), recipe_of("global: {weights: int4 sym channel, activations: int4 asym}"),
               stream(32), settings_with(options));
  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_GT(done->report.training->restarts, 0);
  for (const float x : outputs_of(done->model)) EXPECT_TRUE(std::isfinite(x));
}

TEST(Training, KeepsTheFirstAndTheLastLayerAtEightBits) {
  const auto done = quantize(network(), recipe_of("global: {weights: ternary channel scale mean}"),
                             stream(16), settings_with(some_steps(5)))
                        .value();
  std::map<std::string, std::string> specs;
  for (const auto& one : done.report.weights) specs[one.name] = one.spec;
  EXPECT_EQ(specs.at("w1").substr(0, 4), "int8");
  EXPECT_EQ(specs.at("w2").substr(0, 7), "ternary");
  EXPECT_EQ(specs.at("w3").substr(0, 4), "int8");
}

// Of integers only the weights are widened: the input keeps its 4 bits. Minifloats keep the format of the
// recipe.
TEST(Training, WidensOnlyTheWeightsOfTheEndsOfFourBitIntegers) {
  const auto specs_of = [](const std::string& text) {
    const auto done = quantize(network(), recipe_of(text), stream(16), settings_with(some_steps(3)));
    std::map<std::string, std::string> specs;
    if (!done.ok()) return specs;
    for (const auto& one : done->report.weights) specs[one.name] = one.spec;
    for (const auto& one : done->report.tensors) specs[one.name] = one.spec;
    return specs;
  };
  auto integers = specs_of("global: {weights: int4 sym channel, activations: int4 asym}");
  EXPECT_EQ(integers["w1"].substr(0, 4), "int8");
  EXPECT_EQ(integers["w2"].substr(0, 4), "int4");
  EXPECT_EQ(integers["w3"].substr(0, 4), "int8");
  for (const char* value : {"x", "f"}) EXPECT_EQ(integers[value].substr(0, 4), "int4") << value;
  EXPECT_EQ(specs_of("global: {weights: mxfp4_e2m1}")["w1"].substr(0, 5), "mxfp4");
}

}  // namespace
}  // namespace anybit::quantizing
