// Random graphs from fuzz/runtime with variables, compared with the same graphs with constants.
#include <gtest/gtest.h>

#include <random>

#include "../../../fuzz/runtime/agreement.hpp"

namespace anybit::runtime {
namespace {

using ops::Array;
using ops::Datum;
using ops::ElementType;
using Values = std::map<std::string, Datum>;

const std::shared_ptr<ops::Memory> memory = ops::Memory::make();

// The model with other constants.
std::shared_ptr<graph::Model> with_values(const graph::Model& model, const Values& values) {
  auto copy = std::make_shared<graph::Model>(model);
  for (graph::Tensor& one : copy->graph->initializers) {
    const auto found = values.find(one.name.str());
    if (found != values.end()) one.data = found->second.array.to_constant().data;
  }
  return copy;
}

// Seeds are printed with differences. New values keep the properties of the old ones: signs, ranges.
TEST(Variables, RandomGraphsAgreeWithConstants) {
  using runtime::testing::CaseMaker;
  constexpr std::uint32_t kCases = 200;
  for (std::uint32_t seed = 1; seed <= kCases; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    std::vector<unsigned char> bytes(150);
    for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random());
    const auto made = CaseMaker(bytes).make();
    std::vector<std::string> names;
    Values first, second;
    for (const graph::Tensor& one : made.model->graph->initializers) {
      if (random() % 3 == 0) continue;
      names.push_back(one.name.str());
      const Array before = Array::from(one, *memory).value();
      Array after = before.copy(*memory).value();
      if (one.type() == ElementType::float32) {
        for (float& number : after.elements<float>()) number *= 0.5f + static_cast<float>(random() % 8) / 8;
      }
      first.emplace(names.back(), before);
      second.emplace(names.back(), after);
    }
    const auto written = with_values(*made.model, second);
    for (const bool fuse : {false, true}) {
      const auto executor = Executor::make(made.model, {.threads = 1, .fuse = fuse, .variables = names});
      const auto constant = Executor::make(written, {.threads = 1, .fuse = fuse});
      const auto fresh = Executor::make(written, {.threads = 1, .fuse = fuse, .variables = names});
      if (!constant.ok()) continue;
      ASSERT_TRUE(executor.ok() && fresh.ok()) << executor.error().text();
      for (std::size_t i = 0; i < made.runs.size(); ++i) {
        const auto before = (*executor)->run(made.runs[i]);
        ASSERT_TRUE((*executor)->write(second).ok());
        const auto outputs = (*executor)->run(made.runs[i]), expected = (*constant)->run(made.runs[i]),
                   same = (*fresh)->run(made.runs[i]);
        ASSERT_EQ(outputs.ok(), expected.ok());
        ASSERT_TRUE((*executor)->write(first).ok());
        const auto back = (*executor)->run(made.runs[i]);
        ASSERT_EQ(before.ok(), back.ok());
        for (std::size_t k = 0; outputs.ok() && k < outputs->size(); ++k) {
          const Array& got = (*outputs)[k].array;
          EXPECT_TRUE(runtime::testing::same_bits(got, (*same)[k].array)) << "a write is as good as a start";
          const bool as_constants = runtime::testing::same_bits(got, (*expected)[k].array);
          EXPECT_TRUE(fuse || as_constants);
          EXPECT_EQ(runtime::testing::difference(got, (*expected)[k].array, made.quantized), "");
        }
        for (std::size_t k = 0; before.ok() && k < before->size(); ++k)
          EXPECT_TRUE(runtime::testing::same_bits((*before)[k].array, (*back)[k].array)) << "and back";
      }
    }
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace anybit::runtime
