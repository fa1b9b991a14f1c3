#include "calibrate/gather.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "unit/calibrate/values.hpp"
#include "unit/ops/graphs.hpp"

namespace anybit::calibrate {
namespace {

using ops::Array;
using ops::Datum;
using ops::ElementType;
using ops::testing::attribute;
using ops::testing::node;
using ops::testing::value;
using ::testing::HasSubstr;

const std::shared_ptr<ops::Memory> memory = ops::Memory::make();

// x → a = x · x → y = a / x, and a branch that is taken if the sum is large.
std::shared_ptr<const graph::Model> model() {
  graph::Graph then_branch, else_branch;
  then_branch.nodes = {node("Neg", {"a"}, {"t"})};
  then_branch.outputs = {value("t", {""})};
  else_branch.nodes = {node("Exp", {"x"}, {"e"})};
  else_branch.outputs = {value("e", {""})};
  graph::Graph graph;
  graph.inputs = {value("x", {"n"})};
  graph.outputs = {value("y", {""}), value("b", {""})};
  graph.initializers = {ops::testing::floats("one", {1})};
  graph.nodes = {node("Mul", {"x", "x"}, {"a"}),
                 node("Div", {"a", "x"}, {"y"}),
                 node("ReduceMax", {"a"}, {"m"}, {attribute("keepdims", std::int64_t{0})}),
                 node("Greater", {"m", "one"}, {"g1"}),
                 node("Squeeze", {"g1"}, {"g"}),
                 node("If", {"g"}, {"b"},
                      {attribute("then_branch", graph::GraphBox(then_branch)),
                       attribute("else_branch", graph::GraphBox(else_branch))})};
  return std::make_shared<graph::Model>(ops::testing::model(std::move(graph), 17));
}

const std::vector<Wanted> kSome = {{"moving-average"}}, kBins = {{"moving-average"}, {"bins"}};
const std::vector<Watched> kAll = {{"x", kBins}, {"a", kBins}, {"y", kSome},
                                   {"t", kBins}, {"e", kBins}, {"g", kBins}};

std::map<std::string, Datum> sample_of(const std::vector<float>& values) {
  Array array = Array::make(*memory, ElementType::float32, {std::ssize(values)}).value();
  std::ranges::copy(values, array.elements<float>().begin());
  return {{"x", Datum(array)}};
}

NextSample stream(const std::vector<std::vector<float>>& samples) {
  return [&samples, i = std::size_t{0}]() mutable -> Result<std::optional<std::map<std::string, Datum>>> {
    if (i == samples.size()) return std::optional<std::map<std::string, Datum>>();
    return std::optional(sample_of(samples[i++]));
  };
}

std::vector<std::vector<float>> samples_of(std::size_t n, float scale = 1) {
  std::vector<std::vector<float>> samples;
  for (std::size_t i = 0; i < n; ++i) {
    samples.push_back(testing::normal(100 + 37 * i, static_cast<unsigned>(i)));  // shapes vary
    for (float& one : samples.back()) one *= scale;
  }
  return samples;
}

TEST(Gather, FindsTheStatisticsOfTheValues) {
  const auto samples = samples_of(5);
  const auto found = gather(model(), kAll, stream(samples));
  ASSERT_TRUE(found.ok()) << found.error().text();
  Statistics x, a;
  for (const auto& sample : samples) {
    std::vector<float> squares = sample;
    for (float& one : squares) one *= one;
    ASSERT_TRUE(x.merge(testing::statistics_of(sample)).ok());
    ASSERT_TRUE(a.merge(testing::statistics_of(squares)).ok());
  }
  for (auto* one : {&x, &a}) {
    const Statistics& other = (*found)[one == &x ? 0 : 1];
    EXPECT_NEAR(one->averages.min.value, other.averages.min.value, 1e-9);
    EXPECT_NEAR(one->averages.max.value, other.averages.max.value, 1e-9);
    one->averages.min = other.averages.min;
    one->averages.max = other.averages.max;
    EXPECT_EQ(*one, other);
  }
  EXPECT_FALSE((*found)[2].has_bins);
  EXPECT_GT((*found)[2].extent.count, 0);
}

TEST(Gather, IsTheSameForAnyNumberOfThreads) {
  const auto samples = samples_of(40);
  const auto one = gather(model(), kAll, stream(samples), {.executor = {.threads = 1}});
  ASSERT_TRUE(one.ok());
  for (const int threads : {2, 3, 8}) {
    const auto more = gather(model(), kAll, stream(samples), {.executor = {.threads = threads}});
    ASSERT_TRUE(more.ok());
    EXPECT_EQ(*one, *more) << threads;
  }
}

TEST(Gather, IsIndependentOfOrderExceptForTheMovingAverage) {
  auto samples = samples_of(20);
  auto before = gather(model(), kAll, stream(samples)).value();
  std::ranges::reverse(samples);
  auto after = gather(model(), kAll, stream(samples)).value();
  for (auto* list : {&before, &after}) {
    for (Statistics& one : *list) one.averages.min = one.averages.max = {};
  }
  EXPECT_EQ(before, after);
}

TEST(Gather, PartsMergedAreTheWhole) {
  const auto samples = samples_of(12);
  auto whole = gather(model(), kAll, stream(samples)).value();
  const std::vector<std::vector<float>> first(samples.begin(), samples.begin() + 5);
  const std::vector<std::vector<float>> rest(samples.begin() + 5, samples.end());
  auto merged = gather(model(), kAll, stream(first)).value();
  const auto other = gather(model(), kAll, stream(rest)).value();
  for (std::size_t i = 0; i < merged.size(); ++i) {
    ASSERT_TRUE(merged[i].merge(other[i]).ok());
    EXPECT_NEAR(merged[i].averages.max.value, whole[i].averages.max.value, 1e-9);
    for (Statistics* one : {&merged[i], &whole[i]}) one->averages.min = one->averages.max = {};
  }
  EXPECT_EQ(merged, whole);
}

TEST(Gather, ABranchThatNoSampleTookHasNoStatistics) {
  const auto samples = samples_of(3, 1e-3f);
  const auto found = gather(model(), kAll, stream(samples)).value();
  EXPECT_EQ(found[3].extent.samples, 0);  // t
  EXPECT_EQ(found[3].extent.count, 0);
  EXPECT_EQ(found[4].extent.samples, 3);  // e
}

TEST(Gather, BooleansHaveNoStatistics) {
  const auto samples = samples_of(2);
  EXPECT_EQ(gather(model(), kAll, stream(samples)).value()[5].extent.count, 0);
}

TEST(Gather, ReportsNanWithValueNodeAndFirstSample) {
  auto samples = samples_of(30);
  samples[7][3] = samples[8][0] = samples[20][0] = 0;  // 0 / 0
  for (const int threads : {1, 2, 4}) {
    const auto found = gather(model(), kAll, stream(samples),
                              {.executor = {.threads = threads},
                               .sample_name = [](std::int64_t i) { return fmt::format("file{}.npy", i); }});
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().code, Code::invalid_data);
    EXPECT_THAT(found.error().text(), HasSubstr("sample 7 (file7.npy)"));
    EXPECT_THAT(found.error().text(), HasSubstr("(Div)"));
    EXPECT_THAT(found.error().text(), HasSubstr("value 'y': of 359 elements, 1 are NaN"));
  }
}

TEST(Gather, CountsNanWhereItIsAllowed) {
  auto samples = samples_of(10);
  samples[4][0] = samples[9][0] = 0;
  const auto found = gather(model(), kAll, stream(samples), {.allow_nan = true});
  ASSERT_TRUE(found.ok()) << found.error().text();
  const Statistics& y = (*found)[2];
  EXPECT_EQ(y.extent.nans, 2);
  EXPECT_EQ(y.extent.first_bad, "sample 4");
  EXPECT_TRUE(std::isfinite(y.extent.min) && std::isfinite(y.extent.max));
}

TEST(Gather, AnInvalidSampleIsNamed) {
  int given = 0;
  const NextSample next = [&]() -> Result<std::optional<std::map<std::string, Datum>>> {
    auto sample = sample_of({1, 2, 3});
    if (given++ == 2) sample["z"] = sample["x"];
    return std::optional(std::move(sample));
  };
  const auto found = gather(model(), kAll, next);
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(found.error().text(), HasSubstr("sample 2"));
  EXPECT_THAT(found.error().text(), HasSubstr("no input 'z'"));
}

TEST(Gather, NoSamplesIsAnError) {
  const auto found = gather(model(), kAll, stream({}));
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(found.error().text(), HasSubstr("no samples"));
}

TEST(Gather, ReportsItsProgress) {
  const auto samples = samples_of(9);
  std::vector<std::int64_t> told;
  ASSERT_TRUE(
      gather(model(), kAll, stream(samples), {.progress = [&](std::int64_t n) { told.push_back(n); }}).ok());
  EXPECT_THAT(told, ::testing::ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9));
}

}  // namespace
}  // namespace anybit::calibrate
