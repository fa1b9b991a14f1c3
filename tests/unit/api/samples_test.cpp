// Samples from the caller: fitted to the inputs, from arrays in memory, stopped early.
#include "anybit/samples.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace anybit {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Port port(std::string name, std::vector<std::int64_t> dims) {
  Port port;
  port.name = std::move(name);
  port.type = port.element_type = "float32";
  port.symbols.resize(dims.size());
  port.dims = std::move(dims);
  port.has_rank = true;
  return port;
}

Array floats(std::vector<std::int64_t> dims, float first = 0) {
  std::int64_t count = 1;
  for (const std::int64_t one : dims) count *= one;
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& one : values) one = first++;
  return *Array::from_floats(std::move(values), std::move(dims));
}

Samples::Next given(std::vector<Sample> list) {
  auto at = std::make_shared<std::size_t>(0);
  return [list = std::move(list), at]() -> Result<std::optional<Sample>> {
    return *at < list.size() ? std::optional(list[(*at)++]) : std::nullopt;
  };
}

std::vector<std::vector<std::int64_t>> shapes_of(Samples& samples, const std::string& input) {
  std::vector<std::vector<std::int64_t>> shapes;
  for (auto sample = samples.next(); sample.ok() && *sample; sample = samples.next())
    shapes.push_back((*sample)->at(input).tensor.dims);
  return shapes;
}

TEST(SamplesOfTheCaller, GetABatchOfOneWhereItIsMissing) {
  auto samples = Samples::from(given({{{"x", floats({3})}}}), {port("x", {-1, 3})});
  EXPECT_THAT(shapes_of(*samples, "x"), ElementsAre(std::vector<std::int64_t>{1, 3}));
}

TEST(SamplesOfTheCaller, KeepTheirBatchIfTheModelsIsUnknown) {
  auto samples = Samples::from(given({{{"x", floats({5, 3})}}}), {port("x", {-1, 3})});
  EXPECT_THAT(shapes_of(*samples, "x"), ElementsAre(std::vector<std::int64_t>{5, 3}));
}

TEST(SamplesOfTheCaller, AreSplitToTheModelsBatchSize) {
  auto samples =
      Samples::from(given({{{"x", floats({4, 3})}}, {{"x", floats({2, 3})}}}), {port("x", {2, 3})});
  EXPECT_EQ(shapes_of(*samples, "x").size(), 3U);
}

TEST(SamplesOfTheCaller, GetTheTypeOfTheInput) {
  auto doubles = Array::from_bytes("float64", std::vector<std::byte>(24), {1, 3});
  auto samples = Samples::from(given({{{"x", *doubles}}}), {port("x", {-1, 3})});
  EXPECT_EQ((**samples->next()).at("x").tensor.type, "float32");
}

TEST(SamplesOfTheCaller, MustHaveEveryInputAndNoOther) {
  const std::vector<Port> inputs{port("x", {-1, 3}), port("mask", {-1, 3})};
  EXPECT_THAT(Samples::from(given({{{"x", floats({1, 3})}}}), inputs)->next().error().message,
              HasSubstr("no data for input 'mask'"));
  EXPECT_THAT(
      Samples::from(given({{{"x", floats({1, 3})}, {"mask", floats({1, 3})}, {"y", floats({1, 3})}}}), inputs)
          ->next()
          .error()
          .message,
      HasSubstr("no input 'y'"));
}

TEST(SamplesInMemory, AreSplitLikeFilesAndCanBeIteratedAgain) {
  auto samples =
      samples_in({port("x", {-1, 3}), port("bias", {3})}, {{"x", floats({4, 3})}, {"bias", floats({3}, 7)}});
  EXPECT_EQ(samples->count(), 4);
  EXPECT_EQ(shapes_of(*samples, "x").size(), 4U);
  ASSERT_TRUE(samples->rewind().ok());
  EXPECT_EQ(shapes_of(*samples, "bias").size(), 4U);  // a single one is repeated
}

TEST(SamplesInMemory, EndAtTheLimit) {
  auto samples = samples_in({port("x", {-1, 3})}, {{"x", floats({4, 3})}}, {.limit = 2});
  EXPECT_EQ(samples->count(), 2);
  EXPECT_EQ(shapes_of(*samples, "x").size(), 2U);
}

TEST(SamplesInMemory, MustBeAsManyOfEachInput) {
  const auto samples =
      samples_in({port("x", {-1, 3}), port("y", {-1, 3})}, {{"x", floats({4, 3})}, {"y", floats({3, 3})}});
  EXPECT_THAT(samples.error().hint, HasSubstr("as many of each"));
}

TEST(SamplesThatAreStopped, EndWithAnErrorThatSaysSo) {
  bool stop = false;
  auto samples = samples_in({port("x", {-1, 3})}, {{"x", floats({4, 3})}})->until([&] { return stop; });
  EXPECT_TRUE(samples->next().ok());
  stop = true;
  EXPECT_EQ(samples->next().error().code, Code::cancelled);
}

}  // namespace
}  // namespace anybit
