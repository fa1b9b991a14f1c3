// Which operators have a dynamically quantized form that stock ONNX Runtime runs.
#include <fmt/format.h>

#include "graph/node.hpp"
#include "lower/dynamic.hpp"

namespace anybit::lower {
namespace {

using graph::attribute_or;
using graph::Node;
using graph::Tensor;
using Weights = std::span<const Tensor* const>;
using Reason = std::optional<std::string>;

bool given(const Node& node, std::size_t input) {
  return node.inputs.size() > input && !node.inputs[input].empty();
}
bool is_set(const Node& node, const char* name) { return attribute_or<std::int64_t>(node, name, 0) != 0; }

Reason no_gemm(const Node& node) {
  if (is_set(node, "transA")) return "integer GEMM has no transA";
  if (given(node, 2) && attribute_or(node, "beta", 1.0F) != 1.0F) return "its bias is scaled (beta is not 1)";
  return std::nullopt;
}

Reason no_lstm(const Node& node, Weights weights, bool symmetric) {
  if (weights.size() != 2 || weights[0]->dims.size() != 3 || weights[1]->dims.size() != 3)
    return "its weights are not all constant";
  if (is_set(node, "layout")) return "DynamicQuantizeLSTM does not support layout 1";
  if (symmetric) return "DynamicQuantizeLSTM supports asymmetric activations only";
  return std::nullopt;
}

Reason no_attention(const Node& node) {
  if (node.attribute("qkv_hidden_sizes")) return "QAttention does not support qkv_hidden_sizes";
  for (const char* name : {"do_rotary", "past_present_share_buffer"}) {
    if (is_set(node, name)) return fmt::format("QAttention does not support {}", name);
  }
  if (given(node, 5) || given(node, 6))
    return "QAttention does not support an attention bias or a shared past";
  return std::nullopt;
}

}  // namespace

Reason no_dynamic_form(const Node& node, Weights weights, bool symmetric) {
  const std::string& op = node.op_type.str();
  if (op == "LSTM") return no_lstm(node, weights, symmetric);
  if (op == "GRU" || op == "RNN") return fmt::format("ONNX Runtime has no dynamically quantized {}", op);
  if (weights.empty()) return "it has no constant weights";
  if (op == "MatMul" && weights[0]->dims.size() != 2) return "its weights are not a single matrix";
  if (op == "MatMul" || op == "Conv") return std::nullopt;
  if (op == "Gemm") return no_gemm(node);
  if (op == "Attention") return no_attention(node);
  return fmt::format("ONNX Runtime has no dynamically quantized {}", op);
}

std::vector<std::int64_t> dynamic_rows(const Node& node, const Tensor& weight, bool each_gate) {
  if (node.op_type.str() != "LSTM") return {};
  const auto& dims = weight.dims;
  if (each_gate) return {dims[0] * dims[1], dims[2]};
  return {dims[0], dims[1] * dims[2]};
}

}  // namespace anybit::lower
