#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "calibrate/channel_maxima.hpp"
#include "calibrate/collector_table.hpp"
#include "calibrate/extent.hpp"
#include "calibrate/second_moment.hpp"
#include "graph/node.hpp"
#include "unit/calibrate/values.hpp"

namespace anybit::calibrate {
namespace {

const auto memory = ops::Memory::make();

// Runs a collector on values, one look after the other.
class Shown {
 public:
  explicit Shown(std::int64_t bytes = std::int64_t{1} << 30) : left_(bytes) { bench_.memory = &left_; }

  Result<void> see(Collector& collector, const std::vector<float>& values, const ops::Dims& dims) {
    ops::Array array = ops::Array::make(*memory, ops::ElementType::float32, dims).value();
    std::ranges::copy(values, array.elements<float>().begin());
    const kernels::Extremes extremes = kernels::extremes(array.data<float>(), values.size());
    return collector.see({array, array.data<float>(), values.size(), extremes}, bench_, guard_);
  }

 private:
  Workbench bench_;
  std::mutex guard_;
  std::atomic<std::int64_t> left_;
};

std::string text_of(const Collector& collector) {
  JsonMembers members;
  collector.write(members);
  std::string text = "{";
  for (const auto& [name, value] : members)
    text += fmt::format("{}\"{}\": {}", text == "{" ? "" : ",", name, value);
  return text + "}";
}

Result<void> read_back(const std::string& text, Collector& collector, const Extent& extent = {}) {
  const JsonTree tree = JsonTree::parse(text, {.bytes = 1 << 20, .values = 1000, .depth = 3}).value();
  return collector.read(tree, extent);
}

TEST(Collectors, HaveDistinctNamesAndSummaries) {
  std::vector<std::string_view> names;
  for (const CollectorDescriptor* one : collector_table()) {
    EXPECT_FALSE(one->summary.empty());
    names.push_back(one->name);
  }
  EXPECT_THAT(names, ::testing::ElementsAre("bins", "channel-maxima", "dynamic-error", "extent",
                                            "moving-average", "second-moment"));
  EXPECT_EQ(named_collector("second-momnet").error().hint, "did you mean 'second-moment'?");
}

TEST(ExactSums, AreIndependentOfOrderAndPartition) {
  std::mt19937 random(5);
  std::vector<std::vector<double>> numbers;
  for (int i = 0; i < 300; ++i) {
    std::vector<double>& one = numbers.emplace_back();
    for (int k = 0; k < 7; ++k)
      one.push_back(std::ldexp(std::normal_distribution<double>()(random), static_cast<int>(random() % 150)));
  }
  ExactSums whole(7);
  for (const auto& one : numbers) ASSERT_TRUE(whole.add(one).ok());
  for (int round = 0; round < 10; ++round) {
    std::ranges::shuffle(numbers, random);
    ExactSums parts[3] = {ExactSums(7), ExactSums(7), ExactSums(7)};
    for (const auto& one : numbers) ASSERT_TRUE(parts[random() % 3].add(one).ok());
    ASSERT_TRUE(parts[1].merge(parts[2]).ok());
    ASSERT_TRUE(parts[0].merge(parts[1]).ok());
    EXPECT_EQ(parts[0], whole) << "round " << round;
  }
}

TEST(ExactSums, AreCloseToDoubleSums) {
  std::mt19937 random(9);
  ExactSums sums(3);
  double plain[3] = {};
  for (int i = 0; i < 1000; ++i) {
    double one[3];
    for (double& x : one) x = std::normal_distribution<double>()(random) * 1e-3;
    for (int k = 0; k < 3; ++k) plain[k] += one[k];
    ASSERT_TRUE(sums.add(one).ok());
  }
  for (std::size_t k = 0; k < 3; ++k) EXPECT_NEAR(sums[k], plain[k], 1e-3 * 1000 * 0x1p-40);
}

TEST(SecondMoment, IsTheProductOfTheRowsByTheirTranspose) {
  const std::vector<float> x = testing::normal(2 * 3 * 5);
  SecondMoment last({.axis = -1}), first({.axis = 0});
  Shown shown;
  ASSERT_TRUE(shown.see(last, x, {2, 3, 5}).ok());
  ASSERT_TRUE(shown.see(first, x, {6, 5}).ok());
  EXPECT_EQ(last.rows(), 6);
  EXPECT_EQ(first.rows(), 5);
  for (std::int64_t i = 0; i < 5; ++i) {
    for (std::int64_t k = 0; k < 5; ++k) {
      double sum = 0;
      for (std::size_t row = 0; row < 6; ++row)
        sum += static_cast<double>(x[row * 5 + static_cast<std::size_t>(i)]) *
               static_cast<double>(x[row * 5 + static_cast<std::size_t>(k)]);
      EXPECT_NEAR(last.at(0, i, k), sum, 1e-10);
    }
  }
  double between = 0;  // the second and the last channel
  for (std::size_t k = 0; k < 5; ++k)
    between += static_cast<double>(x[5 + k]) * static_cast<double>(x[25 + k]);
  EXPECT_NEAR(first.at(0, 5, 1), between, 1e-10);
  EXPECT_EQ(last.numbers().dims, (std::vector<std::int64_t>{5, 5}));
}

// The rows of a convolution are im2col patches: channels of a group times the kernel, with zero padding.
TEST(SecondMoment, OfAConvolutionUsesItsPatches) {
  const graph::Node conv = graph::make_node(
      "Conv", {"x", "w"}, {"y"},
      {graph::attribute("group", std::int64_t{2}), graph::attribute("pads", std::vector<std::int64_t>{1, 0}),
       graph::attribute("strides", std::vector<std::int64_t>{2})});
  const std::vector<std::int64_t> weight = {2, 1, 3};
  const auto layer = layer_input(conv, 1, weight);
  ASSERT_TRUE(layer);
  EXPECT_EQ(layer->rows.text(), "patches 3 strides 2 pads 1 0 group 2");
  EXPECT_EQ(layer->channels.text(), "axis 1");
  SecondMoment found(layer->rows);
  Shown shown;
  // Patches: (0, 1, 2), (2, 3, 4), and ten times these.
  ASSERT_TRUE(shown.see(found, {1, 2, 3, 4, 10, 20, 30, 40}, {1, 2, 4}).ok());
  EXPECT_EQ(found.rows(), 2);
  const double expected[3][3] = {{4, 6, 8}, {6, 10, 14}, {8, 14, 20}};
  for (std::int64_t i = 0; i < 3; ++i) {
    for (std::int64_t k = 0; k < 3; ++k) {
      EXPECT_EQ(found.at(0, i, k), expected[i][k]);
      EXPECT_EQ(found.at(1, i, k), 100 * expected[i][k]);
    }
  }
  EXPECT_EQ(found.numbers().dims, (std::vector<std::int64_t>{2, 3, 3}));
}

TEST(SecondMoment, MergesExactlyAndRoundTripsThroughItsFile) {
  SecondMoment whole, first, second, empty;
  Shown shown;
  for (unsigned i = 0; i < 20; ++i) {
    const std::vector<float> x = testing::normal(12, i);
    ASSERT_TRUE(shown.see(whole, x, {3, 4}).ok());
    ASSERT_TRUE(shown.see(i % 3 == 0 ? first : second, x, {3, 4}).ok());
  }
  ASSERT_TRUE(first.merge(empty).ok());
  ASSERT_TRUE(first.merge(second).ok());
  EXPECT_EQ(first, whole);
  for (const SecondMoment* one : {&whole, &empty}) {
    SecondMoment again;
    ASSERT_TRUE(read_back(text_of(*one), again).ok());
    EXPECT_EQ(again, *one);
  }
  SecondMoment other;
  ASSERT_TRUE(shown.see(other, testing::normal(6), {2, 3}).ok());
  EXPECT_FALSE(first.merge(other).ok());
}

TEST(SecondMoment, SkipsRowsWithNanOrInfinity) {
  SecondMoment found;
  Shown shown;
  ASSERT_TRUE(shown.see(found, {1, 2, NAN, 4, 5, INFINITY}, {3, 2}).ok());
  EXPECT_EQ(found.rows(), 1);
  EXPECT_EQ(found.at(0, 0, 1), 2);
}

TEST(SecondMoment, BeyondTheMemoryLimitIsAnError) {
  SecondMoment found;
  Shown shown(1 << 20);
  const auto refused = shown.see(found, testing::normal(1000), {1, 1000});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::limit_exceeded);
  EXPECT_THAT(refused.error().text(), ::testing::HasSubstr("XᵀX of 1000 channels takes 8 MB"));
  EXPECT_TRUE(shown.see(found, testing::normal(100), {1, 100}).ok());
}

TEST(SecondMoment, DamagedDataIsRejected) {
  SecondMoment whole;
  Shown shown;
  ASSERT_TRUE(shown.see(whole, testing::normal(6), {3, 2}).ok());
  const std::string good = text_of(whole);
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    text.replace(text.find(from), from.size(), to);
    return text;
  };
  for (const std::string& text :
       {with("\"length\": 2", "\"length\": 3"), with("\"length\": 2", "\"length\": 99999999999"),
        with("\"groups\": 1", "\"groups\": 0"), with("\"added\": 1", "\"added\": 0"),
        with("\"digit\": ", "\"digit\": 99, \"x\": "), with("\"low\": \"", "\"low\": \"x"),
        with("\"low\": \"", "\"low\": \"9999999999999999 ")}) {
    SecondMoment again;
    EXPECT_FALSE(read_back(text, again).ok()) << text;
  }
}

TEST(ChannelMaxima, AreTheLargestMagnitudesOfEachChannel) {
  ChannelMaxima found({.axis = 1}), more({.axis = 1});
  Shown shown;
  ASSERT_TRUE(shown.see(found, {1, -7, 3, 4, NAN, 0, 2, 2, -9, 1, INFINITY, 0}, {2, 2, 3}).ok());
  EXPECT_THAT(found.maxima(), ::testing::ElementsAre(9, 4));
  ASSERT_TRUE(shown.see(more, {1, 8}, {1, 2}).ok());
  ASSERT_TRUE(found.merge(more).ok());
  EXPECT_THAT(found.maxima(), ::testing::ElementsAre(9, 8));
  Extent extent;
  extent.count = 2;
  extent.min = -9;
  extent.max = 8;
  ChannelMaxima again;
  ASSERT_TRUE(read_back(text_of(found), again, extent).ok());
  EXPECT_EQ(again, found);
  for (const char* text :
       {"{}", R"({"maxima": "1 x"})", R"({"maxima": "-1"})", R"({"maxima": "10"})", R"({"maxima": "nan"})"}) {
    ChannelMaxima damaged;
    EXPECT_FALSE(read_back(text, damaged, extent).ok()) << text;
  }
}

TEST(LayerInput, FindsTheReductionAxis) {
  const auto text = [](const char* op, int weight, std::vector<graph::Attribute> attributes = {}) {
    const auto found =
        layer_input(graph::make_node(op, {"a", "b"}, {"y"}, std::move(attributes)), weight, {});
    return found ? found->value + " " + found->rows.text() : "";
  };
  const auto yes = [](const char* name) {
    return std::vector<graph::Attribute>{graph::attribute(name, std::int64_t{1})};
  };
  EXPECT_EQ(text("MatMul", 1), "a axis -1");
  EXPECT_EQ(text("MatMul", 0), "b axis -2");
  EXPECT_EQ(text("Gemm", 1), "a axis -1");
  EXPECT_EQ(text("Gemm", 1, yes("transA")), "a axis -2");
  EXPECT_EQ(text("Gemm", 0), "b axis -2");
  EXPECT_EQ(text("Gemm", 0, yes("transB")), "b axis -1");
  EXPECT_EQ(text("ConvTranspose", 1), "a axis 1");
  EXPECT_EQ(text("Add", 1), "");
}

}  // namespace
}  // namespace anybit::calibrate
