// Arithmetic on sizes that come from a model: overflow is an answer, not undefined behaviour.
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

// The product of dimensions; nothing if one is negative or the product overflows. A zero dimension makes it
// zero, whatever the others are.
std::optional<std::int64_t> element_count(std::span<const std::int64_t> dims);

// Bytes that `count` values of `bits` bits take when packed.
std::optional<std::int64_t> packed_bytes(std::int64_t count, int bits);

}  // namespace anybit
