// Dynamic quantization of a float tensor: quantized values, scale and zero point from its own range.
#pragma once

#include "quantized.hpp"

namespace anybit::cgen {

// int32_t dynamic_quantize(const float *x, uint8_t *quantized, int32_t count, float *scale): the zero point.
inline void need_dynamic_quantize(Node& node) {
  need_any_to_code(node);
  node.helper(
      "dynamic_quantize",
      R"(static int32_t dynamic_quantize(const float *x, uint8_t *quantized, int32_t count, float *scale) {
  float low = 0, high = 0, point, step;
  int32_t zero;
  for (int32_t i = 0; i < count; ++i) {
    low = x[i] < low ? x[i] : low;
    high = x[i] > high ? x[i] : high;
  }
  step = low == high ? 1.0f : (high - low) / 255.0f;
  point = -low / step;
  zero = any_to_code(point, 0, 255, 0);
  for (int32_t i = 0; i < count; ++i) quantized[i] = (uint8_t)any_to_code(x[i] / step, -zero, 255 - zero, zero);
  *scale = step;
  return zero;
})");
}

}  // namespace anybit::cgen
