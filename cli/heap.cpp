#include "heap.hpp"

#include <cstdint>
#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace anybit::cli {

void take_heap_in_large_steps() {
#ifdef __GLIBC__
  constexpr int kMegabyte = 1 << 20, kStep = 16 * kMegabyte;
  constexpr std::uintptr_t kLargePage = 2 * kMegabyte;
  mallopt(M_TOP_PAD, kStep);
  // What glibc arrives at by itself when large buffers come and go: they stay in the heap.
  mallopt(M_MMAP_THRESHOLD, 32 * kMegabyte);
  mallopt(M_TRIM_THRESHOLD, 64 * kMegabyte);
  // Threads share this heap: those of their own would come page by page. While samples run, they take
  // nothing.
  mallopt(M_ARENA_MAX, 1);

  const auto end = [] { return reinterpret_cast<std::uintptr_t>(sbrk(0)); };
  const std::uintptr_t first = (end() + kLargePage - 1) / kLargePage * kLargePage;
  void* volatile step = std::malloc(kMegabyte);  // the first one; volatile, or the compiler leaves it out
  std::free(step);
  if (first < end()) madvise(reinterpret_cast<void*>(first), end() - first, MADV_HUGEPAGE);
#endif
}

}  // namespace anybit::cli
