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
DynamicWriter::Codes DynamicWriter::gates(const Constant& weight) {
  const std::string key = fmt::format("{}\nLSTM\n{}", weight.name, weight.parameters.scales.size());
  if (const auto found = weights_.find(key); found != weights_.end()) return found->second;
  Tensor codes = weight.codes;
  codes.data = turned(codes.data, codes.dims[0], codes.dims[1], codes.dims[2]);
  Parameters parameters = weight.parameters;
  parameters.dims = {codes.dims[0]};
  if (parameters.scales.size() > static_cast<std::size_t>(codes.dims[0]))
    parameters.dims.push_back(codes.dims[1]);
  std::swap(codes.dims[1], codes.dims[2]);
  return weights_[key] = {constant(std::move(codes), weight.name + "_quantized"),
                          constant(scale_tensor(parameters, {}), weight.name + "_scale"),
                          constant(zero_point_tensor(parameters, {}), weight.name + "_zero_point")};
}

std::vector<Node> DynamicWriter::write_lstm(const Node& node, const DynamicLayer& layer) {
  Node made = layer("DynamicQuantizeLSTM", node, names_.fresh(node.name.str() + "_quantized"));
  const Codes w = gates(layer.weights[0]), r = gates(layer.weights[1]);
  made.inputs = {node.inputs[0], w.value,        r.value, input(node, 3), input(node, 4), input(node, 5),
                 input(node, 6), input(node, 7), w.scale, w.zero_point,   r.scale,        r.zero_point};
  std::erase_if(made.attributes, [](const graph::Attribute& one) { return one.name.str() == "layout"; });
  return {std::move(made)};
}

std::vector<Node> DynamicWriter::write_attention(const Node& node, const DynamicLayer& layer) {
  std::vector<Node> nodes;
  const Codes x = data(node.inputs[0], layer.symmetric, false, nodes);
  const Codes w = weight(node, layer.weights[0]);
  std::string bias = input(node, 2);
  if (bias.empty()) {
    const std::int64_t columns = layer.weights[0].codes.dims[1];
    const Parameters zeros{.scales = std::vector<float>(static_cast<std::size_t>(columns)),
                           .dims = {columns}};
    bias = constant(scale_tensor(zeros, {}), layer.weights[0].name + "_bias");
  }
  Node made = layer("QAttention", node, names_.fresh(node.name.str() + "_quantized"));
  made.inputs = {x.value,        w.value,      bias,         x.scale,       w.scale,
                 input(node, 3), x.zero_point, w.zero_point, input(node, 4)};
  while (made.inputs.back().empty()) made.inputs.pop_back();
  nodes.push_back(std::move(made));
  return nodes;
}

}  // namespace anybit::lower
