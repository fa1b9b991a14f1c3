// Binary elementwise functions of float32, bound by memory bandwidth.
#pragma once

#include <cstddef>

namespace anybit::kernels {

// out[i] = f(a[i · a_step], b[i · b_step]); the steps are 0 or 1. `out` may be a or b.
using FloatBinaryRun = void (*)(const float* a, std::size_t a_step, const float* b, std::size_t b_step,
                                float* out, std::size_t n);

void add(const float* a, std::size_t a_step, const float* b, std::size_t b_step, float* out, std::size_t n);
void subtract(const float* a, std::size_t a_step, const float* b, std::size_t b_step, float* out,
              std::size_t n);
void multiply(const float* a, std::size_t a_step, const float* b, std::size_t b_step, float* out,
              std::size_t n);
void divide(const float* a, std::size_t a_step, const float* b, std::size_t b_step, float* out,
            std::size_t n);
// NaN if either operand is NaN.
void larger(const float* a, std::size_t a_step, const float* b, std::size_t b_step, float* out,
            std::size_t n);
void smaller(const float* a, std::size_t a_step, const float* b, std::size_t b_step, float* out,
             std::size_t n);
// PRelu: a if not negative, otherwise a·b.
void leak(const float* a, std::size_t a_step, const float* b, std::size_t b_step, float* out, std::size_t n);

}  // namespace anybit::kernels
