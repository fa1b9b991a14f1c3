// Runs of float32 to float16 and bfloat16, and back, as bits. Rounding is half to even; what is beyond
// float16 becomes infinite, and no number keeps the upper bits that tell why. The same bits on every CPU.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anybit::kernels {

void to_float16(const float* from, std::uint16_t* to, std::size_t n);
void from_float16(const std::uint16_t* from, float* to, std::size_t n);
void to_bfloat16(const float* from, std::uint16_t* to, std::size_t n);
void from_bfloat16(const std::uint16_t* from, float* to, std::size_t n);

}  // namespace anybit::kernels
