#include "kernels/gemm_scratch.hpp"

#include <new>

#include "kernels/gemm.hpp"

namespace anybit::kernels {
namespace {

constexpr std::align_val_t kAlignment{64};

void release(std::byte* memory) { ::operator delete[](memory, kAlignment); }

}  // namespace

AlignedBytes aligned_bytes(std::int64_t bytes) {
  return {new (kAlignment) std::byte[static_cast<std::size_t>(bytes)], release};
}

std::byte* gemm_scratch(std::int64_t bytes) {
  thread_local AlignedBytes memory(nullptr, release);
  thread_local std::int64_t size = 0;
  if (bytes > size) {
    memory = aligned_bytes(bytes);
    size = bytes;
  }
  return memory.get();
}

}  // namespace anybit::kernels
