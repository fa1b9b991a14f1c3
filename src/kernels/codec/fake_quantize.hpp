// Fake quantization to integers with a given step, and its straight-through gradient (LSQ, Esser et al., ICLR
// 2020; with an offset LSQ+, Bhalgat et al., CVPR Workshops 2020).
#pragma once

#include <cstdint>

namespace anybit::kernels {

// x̂ = clamp(round(x / step), low, high) · step. `low` and `high` are relative to the zero point.
struct FakeQuantization {
  float low = 0, high = 0;
};

// The sums of dy · ∂x̂/∂step and dy · ∂x̂/∂zero_point.
struct StepGradient {
  double step = 0, zero_point = 0;
};

// All n values have one step.
void fake_quantize(const FakeQuantization& as, const float* x, std::int64_t n, float step, float* out);
// Inside the range dx = dy, ∂x̂/∂step = round(x / step) - x / step; outside dx = 0, ∂x̂/∂step = low or high,
// ∂x̂/∂zero_point = -step. Sums run in a fixed order.
StepGradient fake_quantize_gradient(const FakeQuantization& as, const float* x, const float* dy,
                                    std::int64_t n, float step, float* dx);

// Each of n values has its own step and range. `steps` and `zero_points` get the terms of StepGradient added.
void fake_quantize_each(const float* low, const float* high, const float* x, std::int64_t n,
                        const float* step, float* out);
void fake_quantize_gradient_each(const float* low, const float* high, const float* x, const float* dy,
                                 std::int64_t n, const float* step, float* dx, float* steps,
                                 float* zero_points);

}  // namespace anybit::kernels
