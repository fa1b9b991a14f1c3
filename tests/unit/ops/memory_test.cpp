// Memory: allocation, reuse and limits.
#include "ops/memory.hpp"

#include <gtest/gtest.h>
#include <malloc.h>

#include <memory>

#include "base/poison.hpp"

namespace anybit::ops {
namespace {

constexpr std::int64_t kLarge = 9 << 20;  // not cached: freed to the system's allocator at once

TEST(Memory, BlocksAreAligned) {
  const auto memory = Memory::make(0);
  for (std::int64_t bytes = 1; bytes < 5000; bytes = bytes * 3 + 1) {
    const Block block = *memory->take(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.data()) % 64, 0) << bytes;
    EXPECT_GE(block.capacity(), static_cast<std::size_t>(bytes));
  }
}

// Only with glibc's allocator: sanitizers quarantine freed blocks.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(Memory, ABlockReusesTheMemoryOfAFreedOne) {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // from the heap
  const auto memory = Memory::make(0);
  Block before = *memory->take(kLarge), block = *memory->take(kLarge), behind = *memory->take(kLarge);
  const std::byte* place = block.data();
  block = {};
  block = *memory->take(kLarge);
  EXPECT_EQ(block.data(), place);
}
#endif

#ifdef ANYBIT_POISONS
TEST(Memory, UnderASanitizerTheSurroundingsOfABlockArePoisoned) {
  const auto memory = Memory::make(0);
  for (const std::int64_t bytes : {1, 7, 64, 1000, 4097}) {
    Block block = *memory->take(bytes);
    const std::byte* data = block.data();
    EXPECT_EQ(block.capacity(), static_cast<std::size_t>(bytes));
    EXPECT_FALSE(__asan_address_is_poisoned(data + bytes - 1)) << bytes;
    EXPECT_TRUE(__asan_address_is_poisoned(data + bytes)) << bytes;
    EXPECT_TRUE(__asan_address_is_poisoned(data - 1)) << bytes;
    block = {};
    EXPECT_TRUE(__asan_address_is_poisoned(data)) << bytes;
  }
}
#endif

TEST(Memory, LimitsAreEnforced) {
  const auto memory = Memory::make(kLarge);
  const Block one = *memory->take(kLarge / 2);
  const auto refused = memory->take(kLarge);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Code::limit_exceeded);
}

}  // namespace
}  // namespace anybit::ops
