// Elementwise operators on tensors that broadcast against each other, in any layout.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "ops/elements.hpp"
#include "ops/frame.hpp"

namespace anybit::ops {

// Nested loops over a result and its operands, outermost axis first. Axes that one loop can cover are merged;
// at least one remains. `strides` count elements: 0 where an operand is broadcast. Innermost strides are 0 or
// 1.
struct Loops {
  static constexpr std::size_t kMost = 3;
  Dims dims;
  std::array<Dims, kMost> strides;
  std::size_t operands = 0;
};

// The loops for operands of these dims, broadcast to `to`.
Loops loops_over(const Dims& to, std::initializer_list<const Dims*> operands);

// Calls row(offsets, out, n) for each run along the innermost axis in elements [first, last) of the result:
// `offsets` are the first elements of the operands, `out` is that of the result, n the length of the run.
template <class Row>
void for_rows(const Loops& loops, std::int64_t first, std::int64_t last, const Row& row) {
  const std::size_t inner = loops.dims.size() - 1;
  const std::int64_t length = loops.dims[inner];
  if (first >= last || length == 0) return;
  Dims at(loops.dims.size(), 0);
  std::int64_t rest = first;
  std::array<std::int64_t, Loops::kMost> offsets{};
  for (std::size_t axis = inner + 1; axis-- > 0;) {
    at[axis] = rest % loops.dims[axis];
    rest /= loops.dims[axis];
    for (std::size_t k = 0; k < loops.operands; ++k) offsets[k] += at[axis] * loops.strides[k][axis];
  }
  while (first < last) {
    const std::int64_t n = std::min(length - at[inner], last - first);
    row(offsets, first, n);
    first += n;
    // Back to the start of the row, then on to the next row.
    for (std::size_t k = 0; k < loops.operands; ++k) offsets[k] -= at[inner] * loops.strides[k][inner];
    at[inner] = 0;
    for (std::size_t axis = inner; axis-- > 0;) {
      for (std::size_t k = 0; k < loops.operands; ++k) offsets[k] += loops.strides[k][axis];
      if (++at[axis] < loops.dims[axis]) break;
      for (std::size_t k = 0; k < loops.operands; ++k)
        offsets[k] -= loops.dims[axis] * loops.strides[k][axis];
      at[axis] = 0;
    }
  }
}

// The dims of an array's memory, row-major, in a layout.
Dims laid_dims(const Dims& dims, Layout layout);

// An operand as stored, for a result in a layout other than plain.
struct LaidOperand {
  const std::byte* data = nullptr;
  Dims dims;
};
// Nothing if the array cannot be read next to a result of `layout` and `to` without a layout conversion.
Result<std::optional<LaidOperand>> laid_operand(Frame& frame, const Array& array, const Dims& to,
                                                Layout layout);

// One run of a binary operator: out[i] = f(a[i · a_step], b[i · b_step]); the steps are 0 or 1. `out` may be
// a or b. `parameters` belong to the operator.
using BinaryRow = void (*)(const std::byte* a, std::int64_t a_step, const std::byte* b, std::int64_t b_step,
                           std::byte* out, std::int64_t n, const void* parameters);

// A BinaryRow made of a function object on single elements; 16-bit floats are computed in float.
template <class T, class R, class F>
void binary_row(const std::byte* a_bytes, std::int64_t a_step, const std::byte* b_bytes, std::int64_t b_step,
                std::byte* out_bytes, std::int64_t n, const void*) {
  const auto* a = reinterpret_cast<const T*>(a_bytes);
  const auto* b = reinterpret_cast<const T*>(b_bytes);
  auto* out = reinterpret_cast<R*>(out_bytes);
  const F f{};
  const auto one = [&](const T& x, const T& y) {
    if constexpr (kIsHalf<T>) {
      return static_cast<R>(f(static_cast<float>(x), static_cast<float>(y)));
    } else {
      return static_cast<R>(f(x, y));
    }
  };
  if (a_step && b_step) {
    for (std::int64_t i = 0; i < n; ++i) out[i] = one(a[i], b[i]);
  } else if (a_step) {
    const T y = *b;
    for (std::int64_t i = 0; i < n; ++i) out[i] = one(a[i], y);
  } else if (b_step) {
    const T x = *a;
    for (std::int64_t i = 0; i < n; ++i) out[i] = one(x, b[i]);
  } else if (n > 0) {
    std::fill_n(out, n, one(*a, *b));
  }
}

// Output 0 = f(input a, input b), broadcast. `cost`: rough nanoseconds per element.
Result<void> run_binary(Frame& frame, std::size_t a, std::size_t b, ElementType type, BinaryRow row,
                        double cost = 0.3, const void* parameters = nullptr);
// The same for plain arrays under the given dims, into an array that may be one of the operands.
void run_binary_into(Frame& frame, const Array& a, const Dims& a_dims, const Array& b, const Dims& b_dims,
                     Array& out, BinaryRow row, double cost = 0.3, const void* parameters = nullptr);

// Before version 7, `broadcast` aligned the second input at `axis`.
inline constexpr std::int64_t kNumpyBroadcast = 7;

// Shape inference for two inputs, and for any number; `fold` computes the elements of small integer tensors.
Result<std::optional<Shape>> binary_shape(const Call& call);
Result<Value> broadcast_all(const Call& call);
Result<Values> infer_binary(const Call& call, Combine fold);
Result<Values> infer_all(const Call& call, Combine fold);

}  // namespace anybit::ops
