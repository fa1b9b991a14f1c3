// Sums of products of rows, which matrix products and convolutions are made of.
#pragma once

#include <string>

#include "node.hpp"

namespace anybit::cgen {

// The name of a function: y[j] += Σ a[p · a_step] · b[p · b_step + j] for p < k, j < n.
//   name(k, n, a, a_step, b, b_step, y)
std::string add_products(Node& node, const Value& value);

// A pointer to the elements of an input as C computes with them: the input's own, or those of a copy that is
// made here if C has no such type.
std::string computed_input(Node& node, std::size_t i);

// Where a product is computed: the output itself, or memory whose numbers keep() rounds to its type.
struct Computing {
  std::string y;
  void keep(Node& node) const;
};
Computing computing(Node& node);

// Matrices [rows, columns] of a constant, each the other way round: a pointer in C to the elements.
std::string transposed(Node& node, const Value& value, std::int64_t rows, std::int64_t columns);

// The expression of `x` for the attributes `activation` and `activation_params`; empty if there are none.
std::string fused_activation(const Node& node, const Value& value);

}  // namespace anybit::cgen
