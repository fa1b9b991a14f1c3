// Integers that may be unknown before a model runs: the sizes of a shape, the elements of a small integer
// tensor. Arithmetic on them never overflows: an overflowing result is unknown.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/value.hpp"

namespace anybit::ops {

struct Dim {
  std::optional<std::int64_t> size;  // nothing: unknown before the model runs
  std::string symbol;                // the model's name for it; may be empty

  ANYBIT_VALUE(Dim);
  Dim(std::int64_t known) : size(known) {}
  Dim(std::optional<std::int64_t> maybe) : size(maybe) {}
  static Dim named(std::string name);

  bool known() const { return size.has_value(); }
  bool is(std::int64_t number) const { return size == number; }
};

using Shape = std::vector<Dim>;

// Certainly equal: the same number, or the same symbol.
bool same(const Dim& a, const Dim& b);

Dim operator+(const Dim& a, const Dim& b);
Dim operator-(const Dim& a, const Dim& b);
Dim operator*(const Dim& a, const Dim& b);
// Rounded down and up. Unknown if the divisor is not positive.
Dim floor_div(const Dim& a, const Dim& b);
Dim ceil_div(const Dim& a, const Dim& b);
// The number times a real factor, rounded down, as in Resize and Upsample.
Dim scaled(const Dim& a, double factor);

// The product; zero if any factor is zero, even if others are unknown.
Dim product(std::span<const Dim> dims);
// Whether the known sizes make at most so many elements; sizes of 0 count as 1.
bool has_at_most(std::span<const Dim> dims, std::int64_t elements);
// All sizes, or nothing if one is unknown.
std::optional<std::vector<std::int64_t>> numbers(std::span<const Dim> dims);
// The facts common to both: a size is unknown where they differ; nothing if the ranks differ or one is
// unknown.
std::optional<Shape> common(const std::optional<Shape>& a, const std::optional<Shape>& b);

// "1, 3, height, ?"
std::string to_string(std::span<const Dim> dims);

}  // namespace anybit::ops
