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
  // The limits that glibc's dynamic threshold reaches anyway: large buffers stay in the heap.
  mallopt(M_MMAP_THRESHOLD, 32 * kMegabyte);
  mallopt(M_TRIM_THRESHOLD, 64 * kMegabyte);
  // One arena for all threads: further arenas would grow page by page. Threads do not allocate while samples
  // run.
  mallopt(M_ARENA_MAX, 1);

  const auto end = [] { return reinterpret_cast<std::uintptr_t>(sbrk(0)); };
  const std::uintptr_t first = (end() + kLargePage - 1) / kLargePage * kLargePage;
  void* volatile step = std::malloc(kMegabyte);  // grows the heap once; volatile, or the compiler removes it
  std::free(step);
  if (first < end()) madvise(reinterpret_cast<void*>(first), end() - first, MADV_HUGEPAGE);
#endif
}

}  // namespace anybit::cli
