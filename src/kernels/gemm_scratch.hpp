// Memory that a thread keeps for matrix products: blocks of A and B and sums that are not yet done.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anybit::kernels {

// At least `bytes` bytes, aligned for every vector instruction; the same memory at every call of a thread.
std::byte* gemm_scratch(std::int64_t bytes);

}  // namespace anybit::kernels
