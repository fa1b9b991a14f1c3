// How operators go over tensors that broadcast against each other, in whatever layout they lie.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "ops/elements.hpp"
#include "ops/frame.hpp"

namespace anybit::ops {

// Nested loops over a result and its operands, outermost axis first. Axes that can be walked as one are
// merged; there is always one. `strides` count elements: 0 where an operand is stretched. The innermost are 0
// or 1.
struct Loops {
  static constexpr std::size_t kMost = 3;
  Dims dims;
  std::array<Dims, kMost> strides;
  std::size_t operands = 0;
};

// The operands' dims broadcast to `to`.
Loops loops_over(const Dims& to, std::initializer_list<const Dims*> operands);

// Calls row(offsets, out, n) for the runs of the innermost axis that make up elements [first, last) of the
// result: `offsets` are the operands' first elements, `out` the result's, n how many there are.
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
    // Back to the row's begin, and on to the next one.
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

// One run of elements: out[i] = f(a[i · a_step], b[i · b_step]); the steps are 0 or 1. `out` may be a or b.
// `parameters` are the operator's own.
using PairRow = void (*)(const std::byte* a, std::int64_t a_step, const std::byte* b, std::int64_t b_step,
                         std::byte* out, std::int64_t n, const void* parameters);

// A PairRow from a function object on single elements, computed in float where T is a 16-bit float.
template <class T, class R, class F>
void pair_row(const std::byte* a_bytes, std::int64_t a_step, const std::byte* b_bytes, std::int64_t b_step,
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

// Output 0 = f(input a, input b), broadcast. `cost`: rough nanoseconds for one element.
Result<void> run_pairs(Frame& frame, std::size_t a, std::size_t b, ElementType type, PairRow row,
                       double cost = 0.3, const void* parameters = nullptr);
// The same with the operands' dims as given and everything plain, into an array that may be one of them.
void run_pairs_into(Frame& frame, const Array& a, const Dims& a_dims, const Array& b, const Dims& b_dims,
                    Array& out, PairRow row, double cost = 0.3, const void* parameters = nullptr);

// Before version 7, the second input was aligned at `axis` if `broadcast` was set.
inline constexpr std::int64_t kNumpyBroadcast = 7;

// The shape rules of two inputs, and of any number; `fold` computes the contents of small tensors of whole
// numbers from two.
Result<std::optional<Shape>> pair_shape(const Call& call);
Result<Value> broadcast_all(const Call& call);
Result<Values> infer_pairs(const Call& call, Combine fold);
Result<Values> infer_all(const Call& call, Combine fold);

}  // namespace anybit::ops
