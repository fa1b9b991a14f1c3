#include "unit/runtime/count_allocations.hpp"

#include <cstdlib>
#include <new>

namespace anybit::testing {
std::atomic<std::int64_t> allocations = 0;
}  // namespace anybit::testing

void* operator new(std::size_t size) {
  ++anybit::testing::allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++anybit::testing::allocations;
  return std::malloc(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
