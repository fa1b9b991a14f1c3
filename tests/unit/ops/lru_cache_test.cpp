#include "ops/lru_cache.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace anybit::ops {
namespace {

TEST(LruCache, FindsAKeptValue) {
  const LruCache<int, std::string> some;
  EXPECT_EQ(some.find(1), nullptr);
  EXPECT_EQ(*some.keep(1, "one"), "one");
  EXPECT_EQ(*some.find(1), "one");
  EXPECT_EQ(some.find(2), nullptr);
  EXPECT_EQ(*some.keep(1, "another"), "one") << "the first value wins";
}

TEST(LruCache, EvictsTheLeastRecentlyUsedValue) {
  const LruCache<int, int> some;
  constexpr int kMost = static_cast<int>(LruCache<int, int>::kMost);
  for (int i = 0; i < kMost; ++i) some.keep(i, i);
  const auto held = some.find(1);
  EXPECT_NE(some.find(0), nullptr);  // used again
  for (int i = kMost; i < 2 * kMost - 1; ++i) some.keep(i, i);
  EXPECT_NE(some.find(0), nullptr);
  EXPECT_EQ(some.find(1), nullptr);
  EXPECT_EQ(*held, 1) << "a held value stays alive";
}

TEST(LruCache, ServesManyThreads) {
  const LruCache<int, int> some;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&some] {
      for (int i = 0; i < 2000; ++i) {
        const int key = i % 20;
        const auto found = some.find(key);
        EXPECT_EQ(found ? *found : *some.keep(key, 3 * key), 3 * key);
      }
    });
  }
  for (std::thread& one : threads) one.join();
}

}  // namespace
}  // namespace anybit::ops
