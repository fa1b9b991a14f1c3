#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "calibrate/second_moment.hpp"
#include "formats/parameters.hpp"
#include "quantize/plan.hpp"
#include "quantize/recipe.hpp"
#include "refine/table.hpp"
#include "unit/ops/graphs.hpp"

namespace anybit::quantizing {
namespace {

using ::testing::HasSubstr;

TEST(Refinements, EveryRowIsComplete) {
  for (const Descriptor* row : table()) {
    SCOPED_TRACE(row->name);
    EXPECT_FALSE(row->alias.empty() || row->summary.empty());
    EXPECT_EQ(row->round != nullptr, row->phase == Descriptor::Phase::rounding);
    const bool on_weights =
        row->phase == Descriptor::Phase::rounding || row->phase == Descriptor::Phase::ranges;
    EXPECT_EQ(row->refine != nullptr, !on_weights);
    const auto values = formats::complete(row->name, row->parameters, {});
    ASSERT_TRUE(values.ok()) << values.error().text();
    for (const formats::Parameter& one : row->parameters) EXPECT_FALSE(one.doc.empty()) << one.name;
    if (row->needs_samples) {
      EXPECT_GE(formats::integer(*values, "samples"), 1);
    }
    for (const std::string_view need : row->needs) {
      ASSERT_TRUE(calibrate::find_collector(need)) << need;
      EXPECT_TRUE(calibrate::find_collector(need)->make) << need;
      EXPECT_EQ(row->phase, Descriptor::Phase::rounding);
    }
  }
}

// A recipe's refine list as text: names and parameters that are not defaults.
std::string read(const std::string& refine) {
  const auto recipe = read_recipe("global: {weights: int8, refine: " + refine + "}", "test");
  if (!recipe.ok()) return recipe.error().text();
  std::string text;
  for (const Refinement& one : *recipe->rules[0].scheme.refine) {
    const std::string with = parameter_text(*find_refinement(one.name), one.parameters);
    text += (text.empty() ? "" : ", ") + one.name + (with.empty() ? "" : ":" + with);
  }
  return text;
}

TEST(Refinements, AreReadAsWordsAsMapsAndInLists) {
  const std::string sums = "sum-preserving-rounding", means = "bias-correction";
  EXPECT_EQ(read("none"), "");
  EXPECT_EQ(read("sums"), sums);
  EXPECT_EQ(read("means"), sums + ", " + means);
  EXPECT_EQ(read("[sums, means]"), sums + ", " + means);
  EXPECT_EQ(read("means:samples=16"), sums + ", " + means + ":samples=16");
  EXPECT_EQ(read("[means:samples=16, sums:mean=2:trims=4]"),
            sums + ":mean=2:trims=4, " + means + ":samples=16");
  EXPECT_EQ(read("[{means: {samples: 16}}, sums]"), sums + ", " + means + ":samples=16");
  EXPECT_EQ(read("{means: {samples: 16}, sums: {mean: 2.5}}"), sums + ":mean=2.5, " + means + ":samples=16");
  EXPECT_EQ(read("{means: , sums: {trims: 8}}"), sums + ", " + means);
  EXPECT_EQ(read("'means:samples=8, sums'"), sums + ", " + means);
}

TEST(Refinements, AQuestionMarkMeansOnlyWithData) {
  const auto recipe = read_recipe("global: {weights: int4, refine: ['gptq?', 'means?:samples=4']}", "test");
  ASSERT_TRUE(recipe.ok()) << recipe.error().text();
  const auto& all = *recipe->rules[0].scheme.refine;
  ASSERT_EQ(all.size(), 2U);  // without what bias correction includes
  EXPECT_EQ(all[0].name, "gptq");
  EXPECT_TRUE(all[0].optional);
  EXPECT_EQ(all[1].name, "bias-correction");
  EXPECT_TRUE(all[1].optional);
  EXPECT_THAT(read("'snms?'"), HasSubstr("no refinement is called 'snms'"));
}

TEST(Refinements, InvalidRefinementsAreErrorsWithAHint) {
  EXPECT_THAT(read("snms"), HasSubstr("line 1: refine: no refinement is called 'snms'"));
  EXPECT_THAT(read("{means: {sample: 8}}"),
              HasSubstr("refinement bias-correction has no parameter 'sample'"));
  EXPECT_THAT(read("{means: {sample: 8}}"), HasSubstr("did you mean 'samples'?"));
  EXPECT_THAT(read("means:samples=1"), HasSubstr("samples = 1 is not possible"));
  EXPECT_THAT(read("means:samples=1"), HasSubstr("from 2 to 1024"));
  EXPECT_THAT(read("means:samples=many"), HasSubstr("samples is an integer"));
  EXPECT_THAT(read("means:samples"), HasSubstr("'samples' has no value"));
  EXPECT_THAT(read("means:samples=4:samples=4"), HasSubstr("'samples' is given twice"));
  EXPECT_THAT(read("[means:samples=4, means:samples=8]"),
              HasSubstr("named twice, with different parameters"));
  EXPECT_THAT(read("{means: 8}"), HasSubstr("parameters of a refinement are a map"));
  EXPECT_THAT(read("none:samples=4"), HasSubstr("no refinement is called 'none'"));
  const auto recipe = read_recipe(
      "global: {weights: int8}\ntype:\n  Conv:\n    refine:\n      - means: {samples: 0}\n", "test");
  ASSERT_FALSE(recipe.ok());
  EXPECT_THAT(recipe.error().text(), HasSubstr("line 5: refinement bias-correction: samples = 0"));
}

// A row outside of the table: its collectors are watched, run during calibration, and passed to its task.
TEST(Refinements, ThatRoundWeightsGetTheirStatistics) {
  static double seen = 0, parameter = 0;
  static const Descriptor row{
      .name = "by-hessian",
      .alias = "h",
      .summary = "for this test",
      .needs = {"second-moment"},
      .parameters = {{.name = "damping", .preset = 0.01, .doc = "of the diagonal"}},
      .round = [](const RoundingTask& task) {
        const auto* moment = static_cast<const calibrate::SecondMoment*>(task.collected[0]);
        seen = moment->at(0, 0, 1);
        parameter = formats::real(*task.parameters, "damping");
        std::ranges::copy(std::span(task.values, task.rounded.size()), task.rounded.begin());
        return Rounded{};
      }};
  graph::Graph graph;
  graph.inputs = {ops::testing::value("x", {"n", "2"})};
  graph.outputs = {ops::testing::value("y", {""})};
  graph.initializers = {ops::testing::floats("w", {2, 3})};
  graph.nodes = {ops::testing::node("MatMul", {"x", "w"}, {"y"})};
  const auto model = std::make_shared<graph::Model>(ops::testing::model(std::move(graph), 17));
  const Recipe recipe = read_recipe("global: {weights: int8 sym channel, refine: sums}", "test").value();
  Annotation annotation = annotate(*model, recipe).value();
  ASSERT_EQ(annotation.graph.constants.size(), 1U);
  EXPECT_TRUE(watched(annotation).empty());
  Rounder& rounder = annotation.graph.constants[0].rounding;
  rounder = {.row = &row,
             .parameters = {{"damping", 0.5}},
             .needs = needs_of(row, model->graph->nodes[0], 1, model->graph->initializers[0].dims)};

  const auto names = watched(annotation);
  ASSERT_EQ(names.size(), 1U);
  EXPECT_EQ(names[0].name, "x");
  ASSERT_EQ(names[0].collect.size(), 1U);
  EXPECT_EQ(names[0].collect[0].collector, "second-moment");
  bool given = false;
  const auto next = [&]() -> Result<std::optional<std::map<std::string, ops::Datum>>> {
    if (std::exchange(given, true)) return std::optional<std::map<std::string, ops::Datum>>();
    static const auto memory = ops::Memory::make();
    ops::Array x = ops::Array::make(*memory, ops::ElementType::float32, {2, 2}).value();
    std::ranges::copy(std::vector<float>{1, 2, 3, 4}, x.elements<float>().begin());
    return std::optional(std::map<std::string, ops::Datum>{{"x", ops::Datum(x)}});
  };
  const auto statistics = calibrate::gather(model, names, next).value();
  ThreadPool pool(1);
  QuantizationReport report;
  QuantizedWeights weights;
  ASSERT_TRUE(make_plan(annotation, statistics, pool, report, {}, weights).ok());
  EXPECT_EQ(seen, 1 * 2 + 3 * 4);
  EXPECT_EQ(parameter, 0.5);
}

}  // namespace
}  // namespace anybit::quantizing
