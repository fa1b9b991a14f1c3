// Sizes of a window that slides over up to three spatial axes. Missing axes have size 1 and come first.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace anybit::kernels {

struct WindowAxis {
  std::int64_t input = 1, output = 1;  // sizes
  std::int64_t kernel = 1, stride = 1, dilation = 1;
  std::int64_t before = 0, after = 0;  // padding

  friend bool operator==(const WindowAxis&, const WindowAxis&) = default;
};

using Window = std::array<WindowAxis, 3>;

struct Range {
  std::int64_t first, last;  // [first, last)
};

// Rounds up; the divisor is positive.
inline std::int64_t ceil_quotient(std::int64_t a, std::int64_t b) { return a > 0 ? (a + b - 1) / b : a / b; }

// Where the window of output `o` starts; may be in the padding.
inline std::int64_t start_of(const WindowAxis& axis, std::int64_t o) { return o * axis.stride - axis.before; }

// The taps that are inside the input for output `o`.
inline Range taps_inside(const WindowAxis& axis, std::int64_t o) {
  const std::int64_t start = start_of(axis, o);
  const std::int64_t first = std::clamp<std::int64_t>(ceil_quotient(-start, axis.dilation), 0, axis.kernel);
  const std::int64_t last =
      std::clamp<std::int64_t>(ceil_quotient(axis.input - start, axis.dilation), first, axis.kernel);
  return {first, last};
}

// The outputs for which tap `k` is inside the input.
inline Range outputs_inside(const WindowAxis& axis, std::int64_t k) {
  const std::int64_t shift = k * axis.dilation - axis.before;
  const std::int64_t first = std::clamp<std::int64_t>(ceil_quotient(-shift, axis.stride), 0, axis.output);
  const std::int64_t last =
      std::clamp<std::int64_t>(ceil_quotient(axis.input - shift, axis.stride), first, axis.output);
  return {first, last};
}

inline std::int64_t input_size(const Window& w) { return w[0].input * w[1].input * w[2].input; }
inline std::int64_t output_size(const Window& w) { return w[0].output * w[1].output * w[2].output; }
inline std::int64_t kernel_size(const Window& w) { return w[0].kernel * w[1].kernel * w[2].kernel; }

}  // namespace anybit::kernels
