// Converts arrays between float32 and float16 or bfloat16 (as bits). Rounds half to even; overflow becomes
// infinity, and NaN keeps the upper bits of its payload. The same bits on every CPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace anybit::kernels {

void to_float16(const float* from, std::uint16_t* to, std::size_t n);
void from_float16(const std::uint16_t* from, float* to, std::size_t n);
// Limits to an interval; NaN stays.
struct FloatLimits {
  float low = -std::numeric_limits<float>::infinity(), high = std::numeric_limits<float>::infinity();
};
// Limits, then to float16 and back: the nearest value of float16. `to` may be `from`.
void through_float16(const float* from, float* to, std::size_t n, FloatLimits limits = {});
void to_bfloat16(const float* from, std::uint16_t* to, std::size_t n);
void from_bfloat16(const std::uint16_t* from, float* to, std::size_t n);

struct Float16Work {
  enum class Kind : std::uint8_t {
    to_float16,
    from_float16,
    through_float16,
    to_bfloat16,
    from_bfloat16
  } kind;
  const void* from;
  void* to;
  std::size_t n;
  FloatLimits limits = {};  // of through_float16
};

}  // namespace anybit::kernels
