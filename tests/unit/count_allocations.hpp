// How often a program took memory from the heap. It replaces operator new: for one file of a program.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace anybit::testing {
inline std::atomic<std::int64_t> allocations = 0;
}  // namespace anybit::testing

// Not inlined: where g++ sees one of a pair and not the other, it takes them for a mismatch.
[[gnu::noinline]] void* operator new(std::size_t size) {
  ++anybit::testing::allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++anybit::testing::allocations;
  return std::malloc(size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
