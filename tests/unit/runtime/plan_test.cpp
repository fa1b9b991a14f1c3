#include "runtime/plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace anybit::runtime {
namespace {

bool overlap(const Buffer& a, const Buffer& b) {
  const bool in_time = a.first <= b.last && b.first <= a.last;
  return in_time && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

void expect_apart(std::span<const Buffer> buffers, std::int64_t arena) {
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_LE(buffers[i].offset + buffers[i].bytes, arena);
    EXPECT_EQ(buffers[i].offset % 64, 0);
    for (std::size_t k = 0; k < i; ++k) EXPECT_FALSE(overlap(buffers[i], buffers[k])) << i << " and " << k;
  }
}

TEST(Plan, BuffersWithDisjointLifetimesShareMemory) {
  Buffer buffers[] = {{.bytes = 1000, .first = 0, .last = 1}, {.bytes = 900, .first = 2, .last = 3}};
  EXPECT_EQ(assign_offsets(buffers), 1024);
  EXPECT_EQ(buffers[0].offset, buffers[1].offset);
}

TEST(Plan, AStepsInputAndOutputDoNotShare) {
  Buffer buffers[] = {{.bytes = 64, .first = 0, .last = 1}, {.bytes = 64, .first = 1, .last = 2}};
  EXPECT_EQ(assign_offsets(buffers), 128);
  EXPECT_EQ(largest_live_set(buffers), 128);
}

TEST(Plan, NoBuffersNeedNoMemory) {
  EXPECT_EQ(assign_offsets({}), 0);
  EXPECT_EQ(largest_live_set({}), 0);
}

// Random networks are chains with branches: most values live for a few steps, some for many.
TEST(Plan, StaysWithinAQuarterOfTheLargestLiveSet) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  double worst = 1;
  for (int round = 0; round < 50; ++round) {
    std::vector<Buffer> buffers;
    const int steps = 20 + static_cast<int>(random() % 200);
    for (int i = 0; i < steps; ++i) {
      const int life =
          random() % 8 == 0 ? static_cast<int>(random() % 30) : 1 + static_cast<int>(random() % 3);
      const auto bytes = static_cast<std::int64_t>(1 + random() % 64) * 4096;
      buffers.push_back({.bytes = bytes, .first = i, .last = i + life});
    }
    const std::int64_t arena = assign_offsets(buffers);
    expect_apart(buffers, arena);
    worst = std::max(worst, static_cast<double>(arena) / static_cast<double>(largest_live_set(buffers)));
  }
  EXPECT_LE(worst, 1.25);
}

// Thousands of buffers use the fast path, which does not compare all pairs.
TEST(Plan, ManyBuffersDoNotOverlap) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  std::vector<Buffer> buffers;
  for (int i = 0; i < 3000; ++i) {
    const int life = random() % 8 == 0 ? static_cast<int>(random() % 300) : static_cast<int>(random() % 4);
    const auto bytes = static_cast<std::int64_t>(random() % 64) * 1000;
    buffers.push_back({.bytes = bytes, .first = i / 2, .last = i / 2 + life});
  }
  std::ranges::shuffle(buffers, random);
  const std::int64_t arena = assign_offsets(buffers);
  expect_apart(buffers, arena);
  EXPECT_LE(arena, 2 * largest_live_set(buffers));
}

}  // namespace
}  // namespace anybit::runtime
