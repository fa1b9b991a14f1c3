#include "kernels/gemm/gemm_scratch.hpp"

#include <sys/mman.h>

#include <new>

#include "kernels/gemm/gemm.hpp"

namespace anybit::kernels {
namespace {

constexpr std::align_val_t kAlignment{64};
// Weights of this size or more use huge pages where the system has them: GEMM streams through them and would
// otherwise stall on TLB misses every 4 KB.
constexpr std::int64_t kLargePage = std::int64_t{1} << 21;
constexpr std::align_val_t kLargeAlignment{static_cast<std::size_t>(kLargePage)};

void release(std::byte* memory) { ::operator delete[](memory, kAlignment); }
void release_large(std::byte* memory) { ::operator delete[](memory, kLargeAlignment); }

}  // namespace

AlignedBytes aligned_bytes(std::int64_t bytes) {
  if (bytes >= kLargePage) {
    auto* memory = new (kLargeAlignment) std::byte[static_cast<std::size_t>(bytes)];
    madvise(memory, static_cast<std::size_t>(bytes),
            MADV_HUGEPAGE);  // a hint; errors are ignored
    return {memory, release_large};
  }
  return {new (kAlignment) std::byte[static_cast<std::size_t>(bytes)], release};
}

std::byte* gemm_scratch(std::int64_t bytes) {
  thread_local AlignedBytes memory(nullptr, release);
  thread_local std::int64_t size = 0;
  if (bytes > size) {
    memory = aligned_bytes(bytes);
    size = bytes;
  }
  return memory.get();  // NOLINT(clang-analyzer-cplusplus.NewDelete): it does not see the move above
}

}  // namespace anybit::kernels
