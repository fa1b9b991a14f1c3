// Per-thread scratch memory of GEMM: blocks of A and B, and partial sums.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anybit::kernels {

// At least `bytes` bytes, aligned for every vector instruction. Each call of a thread returns the same
// memory.
std::byte* gemm_scratch(std::int64_t bytes);

}  // namespace anybit::kernels
