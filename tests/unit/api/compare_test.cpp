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

// As reference stands the quantized model itself, which is equal to itself unless outputs of the float model
// are taken.
TEST(Compare, TakesTheFloatOutputsThatCalibrationComputed) {
  const Model model = Model::load(kDigits).value();
  struct Case {
    std::int64_t bytes, samples;
    bool kept;
  };
  for (const auto& [bytes, first, kept] :
       {Case{1 << 20, 0, true}, {1 << 20, 3, true}, {0, 0, false}, {30, 3, false}}) {
    QuantizeOptions quantizing;
    CompareOptions comparing;
    comparing.layers = false;
    Samples samples = images(), again = images(), others = images();
    const ReferenceOutputs outputs(bytes, first);
    quantizing.outputs = outputs;
    const auto quantized = quantize(model, Recipe::preset("int8").value(), &samples, quantizing);
    ASSERT_TRUE(quantized.ok()) << quantized.error().text();
    const double expected = compare(model, quantized->model, again, comparing)->outputs[0].sqnr;
    comparing.shared = outputs;
    const auto found = compare(quantized->model, quantized->model, others, comparing);
    ASSERT_TRUE(found.ok()) << found.error().text();
    EXPECT_NEAR(found->outputs[0].sqnr, kept ? expected : 200, 0.01)
        << bytes << " bytes, " << first << " samples";
  }
}

// Weights alone are quantized without a run of the float model.
TEST(Compare, RunsTheFloatModelIfCalibrationDidNot) {
  const Model model = Model::load(kDigits).value();
  QuantizeOptions quantizing;
  CompareOptions comparing;
  comparing.layers = false;
  quantizing.outputs = comparing.shared = ReferenceOutputs();
  Samples samples = images(), again = images();
  const auto quantized = quantize(model, Recipe::preset("w4").value(), &samples, quantizing);
  ASSERT_TRUE(quantized.ok()) << quantized.error().text();
  const auto found = compare(model, quantized->model, again, comparing);
  ASSERT_TRUE(found.ok()) << found.error().text();
  EXPECT_EQ(found->samples, 3);
  EXPECT_LT(found->outputs[0].sqnr, 100);
}

}  // namespace
}  // namespace anybit
