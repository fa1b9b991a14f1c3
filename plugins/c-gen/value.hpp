// A tensor of the graph, for emitters.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "anybit/codegen.hpp"
#include "element.hpp"

namespace anybit::cgen {

using Dims = std::vector<std::int64_t>;

struct Value {
  std::string name = {};
  Element type = Element::none;
  Dims dims = {};
  const anybit_value* view = nullptr;
  int storage = -1;  // the index of its storage in the unit

  const ElementInfo& info() const { return cgen::info(type); }
  std::string_view c() const { return info().c; }  // the C type
  std::size_t rank() const { return dims.size(); }
  bool constant() const { return view != nullptr && view->data != nullptr; }
  // The number of elements of dimensions [from, to).
  std::int64_t product(std::size_t first, std::size_t last) const {
    std::int64_t all = 1;
    for (std::size_t i = first; i < last; ++i) all *= dims[i];
    return all;
  }
  std::int64_t count() const { return product(0, rank()); }
  std::int64_t bytes() const { return count() * info().bytes; }  // size in memory
  // The stride of a dimension.
  std::int64_t stride(std::size_t axis) const { return product(axis + 1, rank()); }
};

}  // namespace anybit::cgen
