// Converts arrays between float32 and float16 or bfloat16 (as bits). Rounds half to even; overflow becomes
// infinity, and NaN keeps the upper bits of its payload. The same bits on every CPU.
#pragma once

#include <cstddef>
#include <cstdint>

namespace anybit::kernels {

void to_float16(const float* from, std::uint16_t* to, std::size_t n);
void from_float16(const std::uint16_t* from, float* to, std::size_t n);
// To float16 and back: the nearest value of float16. `to` may be `from`.
void through_float16(const float* from, float* to, std::size_t n);
void to_bfloat16(const float* from, std::uint16_t* to, std::size_t n);
void from_bfloat16(const std::uint16_t* from, float* to, std::size_t n);

}  // namespace anybit::kernels
