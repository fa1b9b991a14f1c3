// Products by decoded constants, for the fusions that leave the Decode out.
#pragma once

#include <optional>

#include "ops/coded.hpp"
#include "runtime/edit.hpp"

namespace anybit::runtime {

// The step of the Decode of constants (or of another such operator) that a MatMul or Gemm alone multiplies
// by; -1 if there is none.
int decode_of_product(const Program& program, const Edit& edit, const Step& product,
                      std::string_view op = "Decode", std::string_view domain = ops::kAnybit);
// The same for any node whose input 1 it is.
int decode_of_weight(const Program& program, const Edit& edit, const Step& step,
                     std::string_view op = "Decode", std::string_view domain = ops::kAnybit);
// The codec of a Decode; nothing if it cannot be, or if the tensor was not coded under its own dimensions.
std::optional<kernels::TensorCodec> coded_matrix(const Step& decode);
// The same for a tensor that may have been coded under other dimensions.
std::optional<kernels::TensorCodec> coded_weight(const Step& decode);
bool transposed(const Step& product);

// A node with the attributes of a product and of the Decode of its weight, for replace_product().
graph::Node coded_product(const Program& program, const Step& product, int decode, std::string_view name);
// The node takes the product's place, with `input` as its matrix; the Decode goes.
Result<void> replace_product(const Program& program, Edit& edit, std::size_t product, int decode, int input,
                             graph::Node node);

}  // namespace anybit::runtime
