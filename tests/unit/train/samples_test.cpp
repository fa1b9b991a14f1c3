// Samples of training: kept, ordered, joined.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "train/batches.hpp"

namespace anybit::train {
namespace {

const std::shared_ptr<ops::Memory> memory = ops::Memory::make();

ops::Array filled(const ops::Dims& dims, float first) {
  ops::Array array = ops::Array::make(*memory, graph::ElementType::float32, dims).value();
  for (float& x : array.elements<float>()) x = first++;
  return array;
}

SampleStore store(std::int64_t count, std::int64_t most = 1 << 20) {
  SampleStore samples(most);
  for (std::int64_t i = 0; i < count; ++i)
    EXPECT_TRUE(samples.add({{"x", filled({1, 2}, static_cast<float>(i * 10))}}).ok());
  return samples;
}

TEST(SampleStore, ReturnsWhatItGotFromMemoryAndFromTheFile) {
  const SampleStore samples = store(20, 40);  // five samples fit
  ASSERT_EQ(samples.size(), 20);
  for (std::int64_t i = 0; i < 20; ++i) {
    const Sample sample = samples.get(i).value();
    EXPECT_EQ(sample.at("x").array.data<float>()[1], static_cast<float>(i * 10 + 1));
    EXPECT_EQ(sample.at("x").array.dims(), ops::Dims({1, 2}));
  }
}

TEST(SampleStore, RefusesNumbersThatAreNone) {
  SampleStore samples;
  ops::Array array = filled({1, 3}, 0);
  array.mutable_data<float>()[1] = std::nanf("");
  const auto added = samples.add({{"x", array}});
  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().code, Code::invalid_data);
  EXPECT_NE(added.error().text().find("input 'x': it contains NaN"), std::string::npos)
      << added.error().text();
}

TEST(BatchOrder, ShowsEverySampleOncePerEpochInANewOrder) {
  const SampleStore samples = store(12);
  BatchOrder order(samples, 4, 3);
  std::vector<std::vector<std::int64_t>> epochs;
  for (int epoch = 0; epoch < 2; ++epoch) {
    std::set<std::int64_t> seen;
    std::vector<std::int64_t>& all = epochs.emplace_back();
    for (int i = 0; i < 3; ++i) {
      const auto batch = order.next();
      ASSERT_EQ(batch.size(), 4U);
      seen.insert(batch.begin(), batch.end());
      all.insert(all.end(), batch.begin(), batch.end());
    }
    EXPECT_EQ(seen.size(), 12U);
  }
  EXPECT_NE(epochs[0], epochs[1]);
}

TEST(BatchOrder, NeverShowsWhatIsLeftOut) {
  const SampleStore samples = store(12);
  const std::vector<std::int64_t> out{0, 5};
  BatchOrder order(samples, 5, 3, out);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 2; ++i) {
    for (const std::int64_t one : order.next()) seen.insert(one);
  }
  EXPECT_EQ(seen.size(), 10U);
  EXPECT_FALSE(seen.contains(0) || seen.contains(5));
}

TEST(BatchOrder, ContinuesWhereItWas) {
  const SampleStore samples = store(10);
  BatchOrder one(samples, 3, 1), other(samples, 3, 1);
  for (int i = 0; i < 7; ++i) one.next();
  other.skip(7);
  EXPECT_EQ(one.next(), other.next());
}

TEST(BatchOrder, PutsSamplesOfOneFormTogether) {
  SampleStore samples;
  for (int i = 0; i < 9; ++i) ASSERT_TRUE(samples.add({{"x", filled({1, i % 3 + 1}, 0)}}).ok());
  BatchOrder order(samples, 2, 0);
  for (int i = 0; i < 12; ++i) {
    const auto batch = order.next();
    for (const std::int64_t one : batch) EXPECT_EQ(samples.form(one), samples.form(batch[0]));
  }
}

TEST(Batches, RowsAreJoinedAndDivided) {
  const SampleStore samples = store(3);
  const Sample all = stacked(samples, {2, 0}, {}, *memory).value();
  const ops::Array& x = all.at("x").array;
  ASSERT_EQ(x.dims(), ops::Dims({2, 2}));
  EXPECT_EQ(x.data<float>()[0], 20);
  EXPECT_EQ(x.data<float>()[3], 1);
  const auto parts = split_rows(x, {1, 1}, *memory).value();
  EXPECT_EQ(parts[1].data<float>()[1], 1);
}

}  // namespace
}  // namespace anybit::train
