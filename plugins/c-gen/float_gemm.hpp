// Row-wise multiply-accumulate, the kernel of float matrix multiplication and convolution.
#pragma once

#include <string>

#include "node.hpp"

namespace anybit::cgen {

// The name of a function: y[j] += Σ a[p · a_step] · b[p · b_step + j] for p < k, j < n.
//   name(k, n, a, a_step, b, b_step, y)
std::string add_products(Node& node, const Value& value);

// A pointer to the elements of an input in the computed C type: the input itself, or a converted copy if C
// lacks its type.
std::string computed_input(Node& node, std::size_t i);

// The accumulator of a multiplication: the output itself, or memory that keep() rounds to the output type.
struct Computing {
  std::string y;
  void keep(Node& node) const;
};
Computing computing(Node& node);

// Transposes constant matrices [rows, columns]: a pointer in C to the elements.
std::string transposed(Node& node, const Value& value, std::int64_t rows, std::int64_t columns);

// The expression of `x` for the attributes `activation` and `activation_params`; empty without activation.
std::string fused_activation(const Node& node, const Value& value);

}  // namespace anybit::cgen
