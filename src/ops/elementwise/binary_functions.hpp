// Binary elementwise arithmetic, defined for every input: integers wrap around, integer division by zero
// gives zero.
#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "base/nan.hpp"
#include "kernels/elementwise/binary.hpp"
#include "ops/elementwise/broadcast.hpp"

namespace anybit::ops {

// The unsigned type to compute in, since signed overflow is undefined in C++; 32 bits suffice for narrower
// types.
template <class T>
using Wrapping = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;

struct AddPair {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
    } else {
      return a + b;
    }
  }
};
struct SubtractPair {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Wrapping<T>>(a) - static_cast<Wrapping<T>>(b));
    } else {
      return a - b;
    }
  }
};
struct MultiplyPair {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
    } else {
      return a * b;
    }
  }
};
struct DividePair {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) return 0;
      if constexpr (std::is_signed_v<T>) {
        if (b == -1) return SubtractPair()(T(0), a);  // -lowest wraps around
      }
      return static_cast<T>(a / b);
    } else {
      return a / b;
    }
  }
};
// NaN if either operand is NaN, as in numpy.
struct LargerPair {
  template <class T>
  T operator()(T a, T b) const {
    return is_nan(a) ? a : is_nan(b) ? b : a < b ? b : a;
  }
};
struct SmallerPair {
  template <class T>
  T operator()(T a, T b) const {
    return is_nan(a) ? a : is_nan(b) ? b : b < a ? b : a;
  }
};

// A float32 kernel as a row function of run_binary.
template <kernels::FloatBinaryRun kKernel>
void float_row(const std::byte* a, std::int64_t a_step, const std::byte* b, std::int64_t b_step,
               std::byte* out, std::int64_t n, const void*) {
  kKernel(reinterpret_cast<const float*>(a), static_cast<std::size_t>(a_step),
          reinterpret_cast<const float*>(b), static_cast<std::size_t>(b_step), reinterpret_cast<float*>(out),
          static_cast<std::size_t>(n));
}

// The row function of F for an element type; null if the type is not numeric. float32 uses the kernel.
template <class F, kernels::FloatBinaryRun kKernel>
BinaryRow number_row(ElementType type) {
  if (type == ElementType::float32) return float_row<kKernel>;
  BinaryRow row = nullptr;
  for_number(type, [&]<class T>(T) {
    if constexpr (!std::is_same_v<T, float>) row = binary_row<T, T, F>;
  });
  return row;
}

}  // namespace anybit::ops
