#include "anybit/compare.hpp"

#include <gtest/gtest.h>

#include "anybit/quantize.hpp"

namespace anybit {
namespace {

const std::string kDigits = std::string(ANYBIT_SOURCE) + "/examples/digits/digits.onnx";

Samples images() {
  return Samples::from([i = 0]() mutable -> Result<std::optional<Sample>> {
           if (i == 3) return std::optional<Sample>();
           std::vector<float> pixels(784, 0.5f * static_cast<float>(i++));
           pixels[400] = 2;
           return std::optional(
               Sample{{"image", Value(Array::from_floats(std::move(pixels), {1, 1, 28, 28}).value())}});
         })
      .value();
}

// Both models have a value and its dequantized form: each is compared with its counterpart.
TEST(Compare, AcceptsTwoQuantizedModels) {
  const Model model = Model::load(kDigits).value();
  Samples samples = images(), again = images();
  const auto quantized = quantize(model, Recipe::preset("int8").value(), &samples);
  ASSERT_TRUE(quantized.ok()) << quantized.error().text();
  const auto found = compare(quantized->model, quantized->model, again);
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_FALSE(found->layers.empty());
  for (const Difference& one : found->layers) EXPECT_EQ(one.sqnr, 200) << one.name;
}

TEST(Compare, ObeysTheMemoryLimit) {
  const Model model = Model::load(kDigits).value();
  Samples samples = images();
  CompareOptions options;
  options.max_memory = 1000;
  EXPECT_EQ(compare(model, model, samples, options).error().code, Code::limit_exceeded);
}

}  // namespace
}  // namespace anybit
