// Layers that quantize their activations internally: ONNX Runtime's DynamicQuantizeLSTM and QAttention.
#include <fmt/format.h>

#include "graph/node.hpp"
#include "lower/dynamic.hpp"
#include "ops/table.hpp"

namespace anybit::lower {

using graph::Node;
using graph::Tensor;

namespace {

// The node as another operator, with its attributes and without its inputs.
Node layer(const char* op, const Node& node, std::string name) {
  Node made = graph::as_operator(node, op, graph::kMicrosoft);
  made.name = graph::Text(std::move(name));
  made.inputs.clear();
  return made;
}

}  // namespace

// Transposes [directions, gates, k] to [directions, k, gates]. Scales are per gate row or per direction.
DynamicWriter::QuantizedNames DynamicWriter::gates(const Constant& weight) {
  const std::string key = fmt::format("{}\nLSTM\n{}", weight.name, weight.parameters.scales.size());
  if (const auto found = weights_.find(key); found != weights_.end()) return found->second;
  Tensor quantized = weight.quantized;
  quantized.data = turned(quantized.data, quantized.dims[0], quantized.dims[1], quantized.dims[2]);
  Parameters parameters = weight.parameters;
  parameters.dims = {quantized.dims[0]};
  if (parameters.scales.size() > static_cast<std::size_t>(quantized.dims[0]))
    parameters.dims.push_back(quantized.dims[1]);
  std::swap(quantized.dims[1], quantized.dims[2]);
  return weights_[key] = {constant(std::move(quantized), weight.name + "_quantized"),
                          constant(scale_tensor(parameters, {}), weight.name + "_scale"),
                          constant(zero_point_tensor(parameters, {}), weight.name + "_zero_point")};
}

std::vector<Node> DynamicWriter::write_lstm(const Node& node, const DynamicLayer& dynamic) {
  Node made = layer("DynamicQuantizeLSTM", node, names_.fresh(node.name.str() + "_quantized"));
  const QuantizedNames w = gates(dynamic.weights[0]), r = gates(dynamic.weights[1]);
  made.inputs = {node.inputs[0], w.value,        r.value, input(node, 3), input(node, 4), input(node, 5),
                 input(node, 6), input(node, 7), w.scale, w.zero_point,   r.scale,        r.zero_point};
  std::erase_if(made.attributes, [](const graph::Attribute& one) { return one.name.str() == "layout"; });
  return {std::move(made)};
}

std::vector<Node> DynamicWriter::write_attention(const Node& node, const DynamicLayer& dynamic) {
  std::vector<Node> nodes;
  const QuantizedNames x = data(node.inputs[0], dynamic.symmetric, false, nodes);
  const QuantizedNames w = weight(node, dynamic.weights[0]);
  std::string bias = input(node, 2);
  if (bias.empty()) {
    const std::int64_t columns = dynamic.weights[0].quantized.dims[1];
    const Parameters zeros{.scales = std::vector<float>(static_cast<std::size_t>(columns)),
                           .dims = {columns}};
    bias = constant(scale_tensor(zeros, {}), dynamic.weights[0].name + "_bias");
  }
  Node made = layer("QAttention", node, names_.fresh(node.name.str() + "_quantized"));
  made.inputs = {x.value,        w.value,      bias,         x.scale,       w.scale,
                 input(node, 3), x.zero_point, w.zero_point, input(node, 4)};
  while (made.inputs.back().empty()) made.inputs.pop_back();
  nodes.push_back(std::move(made));
  return nodes;
}

}  // namespace anybit::lower
