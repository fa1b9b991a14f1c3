// MatMul, Gemm and Conv by packed constant weights, for the fusions that remove the Decode.
#pragma once

#include <optional>

#include "ops/quantized/packed_tensor.hpp"
#include "runtime/edit.hpp"

namespace anybit::runtime {

// The index of the step that decodes the constant weight of a MatMul or Gemm; -1 if there is none, or if the
// decoded weight has other consumers. `op`, `domain`: the decoding operator.
int decode_of_matmul(const Program& program, const Edit& edit, const Step& linear,
                     std::string_view op = "Decode", std::string_view domain = ops::kAnybit);
// The same for any operator whose weight is input 1.
int decode_of_weight(const Program& program, const Edit& edit, const Step& step,
                     std::string_view op = "Decode", std::string_view domain = ops::kAnybit);
// The codec of a Decode; empty if there is none, or if the tensor was packed under other dimensions than its
// own.
std::optional<kernels::TensorCodec> packed_matrix(const Step& decode);
// The same, but the tensor may have been packed under other dimensions.
std::optional<kernels::TensorCodec> stored_weight(const Step& decode);
bool transposed(const Step& linear);

// A node with the attributes of the linear operator and of the Decode of its weight, for replace_matmul().
graph::Node packed_gemm_node(const Program& program, const Step& linear, int decode, std::string_view name);
// Replaces the linear operator with the node; `input` is the activation. The Decode is removed.
Result<void> replace_matmul(const Program& program, Edit& edit, std::size_t linear, int decode, int input,
                            graph::Node node);

}  // namespace anybit::runtime
