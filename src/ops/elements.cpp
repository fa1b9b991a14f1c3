#include "ops/elements.hpp"

#include <algorithm>

namespace anybit::ops {

std::optional<std::vector<Dim>> combine(const Value& a, const Value& b, Combine combine) {
  if (!a.elements || !b.elements || !a.shape || !b.shape) return std::nullopt;
  const std::size_t na = a.elements->size();
  const std::size_t nb = b.elements->size();
  const bool alike = na == nb && a.shape->size() == b.shape->size() && a.shape->size() <= 1;
  if (!alike && na != 1 && nb != 1) return std::nullopt;
  if (na == 0 || nb == 0) return std::nullopt;
  std::vector<Dim> list;
  for (std::size_t i = 0; i < std::max(na, nb); ++i) {
    list.push_back(combine((*a.elements)[na == 1 ? 0 : i], (*b.elements)[nb == 1 ? 0 : i]));
  }
  return list;
}

std::vector<Dim> view_of(std::span<const Dim> elements, std::span<const std::int64_t> sizes,
                         std::int64_t first, std::span<const std::int64_t> steps) {
  std::vector<Dim> list;
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return list;
  std::vector<std::int64_t> index(sizes.size(), 0);
  for (std::int64_t at = first;;) {
    list.push_back(elements[static_cast<std::size_t>(at)]);
    std::size_t axis = sizes.size();
    while (axis > 0 && ++index[axis - 1] == sizes[axis - 1]) index[--axis] = 0;
    if (axis == 0) return list;
    at = first;
    for (std::size_t i = 0; i < sizes.size(); ++i) at += index[i] * steps[i];
  }
}

std::vector<std::int64_t> row_major(std::span<const std::int64_t> sizes) {
  std::vector<std::int64_t> steps(sizes.size(), 1);
  for (std::size_t i = sizes.size(); i > 1; --i) steps[i - 2] = steps[i - 1] * sizes[i - 1];
  return steps;
}

}  // namespace anybit::ops
