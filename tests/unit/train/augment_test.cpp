// Changes of training images.
#include "train/augment.hpp"

#include <gtest/gtest.h>

#include <set>

#include "train/batches.hpp"

namespace anybit::train {
namespace {

const std::shared_ptr<ops::Memory> memory = ops::Memory::make();

ops::Array counted(const ops::Dims& dims) {
  ops::Array array = ops::Array::make(*memory, graph::ElementType::float32, dims).value();
  float next = 0;
  for (float& x : array.elements<float>()) x = next++;
  return array;
}

std::vector<float> moved(const ops::Array& image, Augmentation change) {
  Sample sample{{"image", image}};
  EXPECT_TRUE(move_images(sample, change, 3, *memory).ok());
  const auto elements = sample.at("image").array.elements<float>();
  return {elements.begin(), elements.end()};
}

TEST(Augmentation, IsTheSameForTheSameStep) {
  SampleStore samples;
  ASSERT_TRUE(samples.add({{"image", counted({1, 1, 28, 28})}}).ok());
  Augmentation change = augmentation_named("shift,flip", 5).value();
  std::set<float> firsts;
  for (std::uint64_t step = 0; step < 20; ++step) {
    change.step = step;
    const Sample one = stacked(samples, {0}, change, *memory).value(),
                 again = stacked(samples, {0}, change, *memory).value();
    EXPECT_TRUE(std::ranges::equal(one.at("image").array.elements<float>(),
                                   again.at("image").array.elements<float>()));
    firsts.insert(one.at("image").array.data<float>()[14 * 28 + 14]);
  }
  EXPECT_GT(firsts.size(), 5U);
  // The store is not changed.
  EXPECT_EQ(samples.get(0).value().at("image").array.data<float>()[1], 1);
}

// Left and right exchanged in every second draw, and nothing else.
TEST(Augmentation, MirrorsWholeImages) {
  const ops::Array image = counted({1, 2, 16, 20});
  const auto elements = image.elements<float>();
  int mirrored = 0;
  for (std::uint64_t step = 0; step < 40; ++step) {
    const auto found = moved(image, {.flip = true, .seed = 1, .step = step});
    if (std::ranges::equal(found, elements)) continue;
    ++mirrored;
    for (std::size_t row = 0; row < 32; ++row) {
      for (std::size_t x = 0; x < 20; ++x) ASSERT_EQ(found[row * 20 + x], elements[row * 20 + 19 - x]);
    }
  }
  EXPECT_GT(mirrored, 10);
  EXPECT_LT(mirrored, 30);
}

// What lies outside is mirrored at the edge: a ramp turns back, and no pixel is repeated there.
TEST(Augmentation, MovesByUpToATenthAndReflectsTheEdge) {
  const ops::Array image = counted({1, 1, 1, 30});
  std::set<std::vector<float>> seen;
  for (std::uint64_t step = 0; step < 60; ++step) seen.insert(moved(image, {.shift = true, .step = step}));
  EXPECT_EQ(seen.size(), 7U);  // from 3 to the left to 3 to the right
  for (const auto& row : seen) {
    for (std::size_t x = 1; x < row.size(); ++x) EXPECT_EQ(std::abs(row[x] - row[x - 1]), 1) << row[0];
  }
}

TEST(Augmentation, HasTheChannelsLastToo) {
  const ops::Array image = counted({1, 16, 16, 3});
  for (std::uint64_t step = 0; step < 20; ++step) {
    const auto found = moved(image, {.shift = true, .flip = true, .step = step});
    for (std::size_t i = 0; i < found.size(); i += 3) {
      EXPECT_EQ(found[i + 1], found[i] + 1);
      EXPECT_EQ(found[i + 2], found[i] + 2);
    }
  }
}

// Every second row is a mean of itself and the next one, with the same share for each of its elements.
TEST(Augmentation, MixesRows) {
  const ops::Array rows = counted({6, 4});
  ops::Array mixed = rows;
  const std::vector<float> shares = mixture({.mix = true, .seed = 2, .step = 1}, 6);
  ASSERT_TRUE(mix_rows(mixed, shares, *memory).ok());
  for (std::size_t row = 0; row < 6; ++row) {
    if (row % 2 == 1) {
      EXPECT_EQ(shares[row], 1);
    } else {
      EXPECT_GE(shares[row], 0);
      EXPECT_LT(shares[row], 1);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      const float own = rows.data<float>()[row * 4 + i], next = rows.data<float>()[(row + 1) % 6 * 4 + i];
      EXPECT_NEAR(mixed.data<float>()[row * 4 + i], shares[row] * own + (1 - shares[row]) * next, 1e-4F);
    }
  }
  EXPECT_EQ(rows.data<float>()[0], 0);  // the original is not changed
}

TEST(Augmentation, NamesAreReadAndWritten) {
  for (const std::string name : {"none", "shift", "flip", "mix", "shift,flip", "shift,flip,mix"})
    EXPECT_EQ(name_of(augmentation_named(name, 0).value()), name);
  const auto unknown = augmentation_named("rotate", 0);
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().text().find("no augmentation 'rotate'"), std::string::npos);
}

}  // namespace
}  // namespace anybit::train
