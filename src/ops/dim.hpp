// Numbers that may not be known before a model runs: the sizes of a shape, the contents of a small integer
// tensor. Arithmetic on them never overflows: what cannot be told is unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/value.hpp"

namespace anybit::ops {

struct Dim {
  std::optional<std::int64_t> size;  // nothing: not known before the model runs
  std::string symbol;                // what the model calls an unknown one; may be empty

  ANYBIT_VALUE(Dim);
  Dim(std::int64_t known) : size(known) {}
  Dim(std::optional<std::int64_t> maybe) : size(maybe) {}
  static Dim named(std::string name);

  bool known() const { return size.has_value(); }
  bool is(std::int64_t number) const { return size == number; }
};

using Shape = std::vector<Dim>;

// Certainly equal: the same number, or the same name.
bool same(const Dim& a, const Dim& b);

Dim operator+(const Dim& a, const Dim& b);
Dim operator-(const Dim& a, const Dim& b);
Dim operator*(const Dim& a, const Dim& b);
// Rounded down and up. Unknown if the divisor is not positive.
Dim floor_div(const Dim& a, const Dim& b);
Dim ceil_div(const Dim& a, const Dim& b);
// The number times a real factor, rounded down, as Resize and Upsample scale.
Dim scaled(const Dim& a, double factor);

// The product; zero if any is zero, though others are unknown.
Dim product(std::span<const Dim> dims);
// Whether there are at most so many elements, as far as sizes are known; those of length 0 count as 1.
bool has_at_most(std::span<const Dim> dims, std::int64_t elements);
// All the numbers, or nothing.
std::optional<std::vector<std::int64_t>> numbers(std::span<const Dim> dims);
// What holds for both: unknown where they differ; nothing if the ranks differ or one is not known.
std::optional<Shape> common(const std::optional<Shape>& a, const std::optional<Shape>& b);

// "1, 3, height, ?"
std::string to_string(std::span<const Dim> dims);

}  // namespace anybit::ops
