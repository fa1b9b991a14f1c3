#include "ops/symbolic_dim.hpp"

#include <algorithm>
#include <cmath>

#include "base/checked.hpp"

namespace anybit::ops {

ANYBIT_DEFINE_VALUE(Dim);

Dim Dim::named(std::string name) {
  Dim dim;
  dim.symbol = std::move(name);
  return dim;
}

bool same(const Dim& a, const Dim& b) {
  if (a.known() || b.known()) return a.size == b.size;
  return !a.symbol.empty() && a.symbol == b.symbol;
}

Dim operator+(const Dim& a, const Dim& b) {
  if (b.is(0)) return a;
  if (a.is(0)) return b;
  return a.known() && b.known() ? Dim(checked_add(*a.size, *b.size)) : Dim();
}

Dim operator-(const Dim& a, const Dim& b) {
  if (b.is(0)) return a;
  std::int64_t difference = 0;
  if (!a.known() || !b.known() || __builtin_sub_overflow(*a.size, *b.size, &difference)) return {};
  return difference;
}

Dim operator*(const Dim& a, const Dim& b) {
  if (b.is(1)) return a;
  if (a.is(1)) return b;
  if (a.is(0) || b.is(0)) return 0;
  return a.known() && b.known() ? Dim(checked_mul(*a.size, *b.size)) : Dim();
}

Dim floor_div(const Dim& a, const Dim& b) {
  if (b.is(1)) return a;
  if (!a.known() || !b.known() || *b.size <= 0) return {};
  const std::int64_t quotient = *a.size / *b.size;
  return quotient - (*a.size % *b.size < 0 ? 1 : 0);
}

Dim ceil_div(const Dim& a, const Dim& b) {
  if (b.is(1)) return a;
  if (!a.known() || !b.known() || *b.size <= 0) return {};
  const std::int64_t quotient = *a.size / *b.size;
  return quotient + (*a.size % *b.size > 0 ? 1 : 0);
}

Dim scaled(const Dim& a, double factor) {
  if (factor == 1.0) return a;
  if (!a.known() || *a.size < 0) return {};
  const double size = std::floor(static_cast<double>(*a.size) * factor);
  constexpr double kLargest = 9e15;  // below 2^53: every smaller integer is exact
  return size >= 0.0 && size < kLargest ? Dim(static_cast<std::int64_t>(size)) : Dim();
}

bool has_at_most(std::span<const Dim> dims, std::int64_t elements) {
  std::optional<std::int64_t> count = 1;
  for (const Dim& one : dims) {
    if (one.known() && count) count = checked_mul(*count, std::max<std::int64_t>(*one.size, 1));
  }
  return count && *count <= elements;
}

Dim product(std::span<const Dim> dims) {
  if (std::any_of(dims.begin(), dims.end(), [](const Dim& d) { return d.is(0); })) return 0;
  Dim result = 1;
  for (const Dim& dim : dims) result = result * dim;
  return result;
}

std::optional<std::vector<std::int64_t>> numbers(std::span<const Dim> dims) {
  std::vector<std::int64_t> result;
  for (const Dim& dim : dims) {
    if (!dim.known()) return std::nullopt;
    result.push_back(*dim.size);
  }
  return result;
}

std::optional<Shape> common(const std::optional<Shape>& a, const std::optional<Shape>& b) {
  if (!a || !b || a->size() != b->size()) return std::nullopt;
  Shape shape;
  for (std::size_t i = 0; i < a->size(); ++i) shape.push_back(same((*a)[i], (*b)[i]) ? (*a)[i] : Dim());
  return shape;
}

std::string to_string(std::span<const Dim> dims) {
  std::string text;
  for (const Dim& dim : dims) {
    if (!text.empty()) text += ", ";
    text += dim.known() ? std::to_string(*dim.size) : dim.symbol.empty() ? "?" : dim.symbol;
  }
  return text;
}

}  // namespace anybit::ops
