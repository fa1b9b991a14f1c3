// Arithmetic on sizes that come from a model: overflow gives an empty result instead of undefined behaviour.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>

namespace anybit {

template <std::integral T>
std::optional<T> checked_add(T a, T b) {
  T sum;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

template <std::integral T>
std::optional<T> checked_mul(T a, T b) {
  T product;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}

// The product of the dimensions; empty if one is negative or the product overflows. With a zero dimension it
// is zero, for any other dimensions.
std::optional<std::int64_t> element_count(std::span<const std::int64_t> dims);

// Bytes of `count` packed values of `bits` bits.
std::optional<std::int64_t> packed_bytes(std::int64_t count, int bits);

}  // namespace anybit
