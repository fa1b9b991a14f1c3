#include "anybit/calibrate.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/base/scratch.hpp"

namespace anybit {
namespace {

using ::testing::HasSubstr;

const std::string kDigits = std::string(ANYBIT_SOURCE) + "/examples/digits/digits.onnx";

Value image(float level) {
  return Value(Array::from_floats(std::vector<float>(784, level), {1, 1, 28, 28}).value());
}

// One sample per level.
Samples made(std::vector<float> levels) {
  return Samples::from([levels, i = std::size_t{0}]() mutable -> Result<std::optional<Sample>> {
           if (i == levels.size()) return std::optional<Sample>();
           return std::optional(Sample{{"image", image(levels[i++])}});
         })
      .value();
}

TEST(Calibrate, AcceptsSamplesFromTheCaller) {
  const Model model = Model::load(kDigits).value();
  Samples samples = made({-1, 0.5f, 2});
  std::int64_t told = 0;
  const auto ranges = calibrate_model(model, samples, {.progress = [&](std::int64_t done) { told = done; }});
  ASSERT_TRUE(ranges.ok()) << ranges.error().text();
  EXPECT_EQ(ranges->samples(), 3);
  EXPECT_EQ(told, 3);
  const auto range = ranges->range("image");
  ASSERT_TRUE(range.ok()) << range.error().text();
  EXPECT_EQ(range->low, -1);
  EXPECT_EQ(range->high, 2);
  EXPECT_TRUE(ranges->check_belongs(model).ok());
  EXPECT_EQ(ranges->model_hash(), content_hash(model).value());
}

TEST(Calibrate, NamesUnknownTensorsAndObservers) {
  const Model model = Model::load(kDigits).value();
  Samples samples = made({1});
  const auto ranges = calibrate_model(model, samples, {.bins = false});
  ASSERT_TRUE(ranges.ok());
  EXPECT_THAT(ranges->range("image", {.observer = "mse"}).error().text(), HasSubstr("needs bins"));
  EXPECT_THAT(ranges->range("imag").error().text(), HasSubstr("did you mean 'image'"));
  EXPECT_THAT(ranges->range("image", {.observer = "mze"}).error().text(), HasSubstr("no observer 'mze'"));
  EXPECT_FALSE(ranges->range("image", {.levels = 1}).ok());
  EXPECT_FALSE(calibrate_model(model, samples, {.threads = -1}).ok());
  EXPECT_FALSE(calibrate_model(model, samples, {.momentum = 2}).ok());
}

TEST(Calibrate, TheHashDependsOnTheContentNotOnThePath) {
  const Scratch folder;
  const Model model = Model::load(kDigits).value();
  ASSERT_TRUE(
      model.save(folder.file("m.onnx"), {.external = SaveOptions::External::always, .external_threshold = 0})
          .ok());
  const Model outside = Model::load(folder.file("m.onnx")).value();
  EXPECT_EQ(content_hash(outside).value(), content_hash(model).value());
}

TEST(Samples, FromFilesCanBeIteratedAgainFromACallerCannot) {
  const Scratch folder;
  ASSERT_TRUE(
      write_npy(folder.file("x.npy"), Array::from_floats(std::vector<float>(5 * 784), {5, 1, 28, 28}).value())
          .ok());
  const auto inputs = inputs_of(Model::load(kDigits).value()).value();
  auto samples = open_samples(inputs, {folder.file("x.npy")}, {.limit = 3});
  ASSERT_TRUE(samples.ok()) << samples.error().text();
  EXPECT_EQ(samples->count(), 3);
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 3; ++i) {
      const auto sample = samples->next();
      ASSERT_TRUE(sample.ok() && sample->has_value());
      EXPECT_EQ((*sample)->at("image").tensor.dims, (std::vector<std::int64_t>{1, 1, 28, 28}));
      EXPECT_EQ(samples->name(), folder.file("x.npy") + "[" + std::to_string(i) + "]");
    }
    EXPECT_FALSE(samples->next()->has_value());
    EXPECT_TRUE(samples->rewind().ok());
  }
  EXPECT_EQ(made({1}).rewind().error().code, Code::invalid_state);
}

}  // namespace
}  // namespace anybit
