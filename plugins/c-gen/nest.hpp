// Loops over places of tensors: dims and strides become nested loops in C, and index expressions.
#pragma once

#include <string>
#include <vector>

#include "node.hpp"

namespace anybit::cgen {

// Elements from one place of an axis to the next, in a tensor without gaps.
Dims strides_of(const Dims& dims);
// Strides of a tensor that stretches to `to`: 0 where one element serves the whole axis.
Dims spread_strides(const Dims& dims, const Dims& to);

// Where a tensor is read or written inside loops: offset + index · stride, summed over the axes.
struct Walk {
  Dims strides;
  std::int64_t offset = 0;
};

// Axes that all walks go along as one become one loop; axes of size 1 none.
class Nest {
 public:
  // `name`: of the loops' counters, which are name0, name1, …
  Nest(const Dims& dims, const std::vector<Walk>& walks, std::string name = "i");

  void open(Node& node) const;
  void close(Node& node) const;
  std::string at(std::size_t walk) const;  // "i0 * 12 + i1"

 private:
  std::vector<Walk> walks_;
  Dims dims_;
  std::string name_;
};

}  // namespace anybit::cgen
