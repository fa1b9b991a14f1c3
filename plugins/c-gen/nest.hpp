// Loop nests: dims and strides become nested loops and index expressions in C.
#pragma once

#include <string>
#include <vector>

#include "node.hpp"

namespace anybit::cgen {

// Strides of a contiguous tensor.
Dims strides_of(const Dims& dims);
// Strides of a tensor that is broadcast to `to`: 0 for broadcast axes.
Dims spread_strides(const Dims& dims, const Dims& to);

// The index of a tensor access inside loops: offset + Σ index · stride over the axes.
struct Walk {
  Dims strides;
  std::int64_t offset = 0;
};

// Merges axes that are contiguous in all walks, and drops axes of size 1.
class Nest {
 public:
  // `name`: the prefix of the loop counters name0, name1, …
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
