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

}  // namespace anybit::ops
