// Loops over the elements of a tensor, with the places of inputs that are spread over it (broadcasting).
#pragma once

#include <string>
#include <vector>

#include "node.hpp"

namespace anybit::cgen {

// Dimensions that all inputs walk through in the same way are one loop: equal shapes give a single one.
class Spread {
 public:
  // `inputs`: dimensions, which go with the last ones of `dims`; those of size 1 are repeated.
  Spread(const Dims& dims, const std::vector<Dims>& inputs);

  void open(Node& node) const;  // loops i0, i1, …
  void close(Node& node) const;
  // The number of the element of input `k`, or of the output, in these variables.
  std::string in(std::size_t k) const;
  std::string out() const;
  const Dims& dims() const { return dims_; }

 private:
  std::string index(const Dims& strides) const;
  Dims dims_, out_strides_;
  std::vector<Dims> strides_;
};

}  // namespace anybit::cgen
