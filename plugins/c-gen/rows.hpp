// Operators along one axis: dims become [outer, n, inner], where n is the axis.
#pragma once

#include "node.hpp"

namespace anybit::cgen {

struct Rows {
  std::int64_t outer, n, inner;

  // Loops over all rows. Element j of a row is at `at` + j · inner, for an axis of `size` elements.
  void open(Node& node) const {
    node.loop("o", outer);
    node.loop("r", inner);
  }
  void close(Node& node) const {
    node.end();
    node.end();
  }
  std::string at(std::string_view j, std::int64_t size) const {
    return fmt::format("o * {} + ({}) * {} + r", size * inner, j, inner);
  }
  std::string at(std::string_view j) const { return at(j, n); }
};

inline Rows rows_along(const Value& value, std::size_t axis) {
  return {value.product(0, axis), value.dims[axis], value.stride(axis)};
}

}  // namespace anybit::cgen
