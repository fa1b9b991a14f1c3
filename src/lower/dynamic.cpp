#include "lower/dynamic.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "graph/node.hpp"
#include "ops/raise.hpp"

namespace anybit::lower {
namespace {

using graph::attribute_or;
using graph::ElementType;
using graph::Node;
using graph::Tensor;

bool transposed(const Node& node) { return attribute_or<std::int64_t>(node, "transB", 0) != 0; }
bool is_conv(const Node& node) { return node.op_type.str() == "Conv"; }
bool has_bias(const Node& node) { return node.inputs.size() > 2 && !node.inputs[2].empty(); }

}  // namespace

Bytes turned(const Bytes& quantized, std::int64_t count, std::int64_t rows, std::int64_t columns) {
  std::vector<std::uint8_t> result(quantized.size());
  for (std::int64_t one = 0; one < count; ++one) {
    const std::byte* from = quantized.data() + one * rows * columns;
    std::uint8_t* to = result.data() + one * rows * columns;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < columns; ++j)
        to[j * rows + i] = static_cast<std::uint8_t>(from[i * columns + j]);
    }
  }
  return Bytes::own(std::move(result));
}

std::string DynamicWriter::constant(Tensor tensor, const std::string& name) {
  std::string fresh = names_.fresh(name);
  tensor.name = graph::Text(fresh);
  graph_.initializers.push_back(std::move(tensor));
  return fresh;
}

std::string DynamicWriter::number(float value, const std::string& name) {
  const Parameters one{.scales = {value}, .zero_points = {0}};
  return constant(scale_tensor(one, name), name);
}

std::string DynamicWriter::apply(const char* op, std::vector<std::string> inputs, const std::string& about,
                                 std::vector<Node>& nodes, std::string output) {
  Node& node = nodes.emplace_back(graph::make_node(op, std::move(inputs), {}));
  node.name = graph::Text(names_.fresh(fmt::format("{}_{}", about, op)));
  node.outputs = {output.empty() ? names_.fresh(fmt::format("{}_{}_Output", about, op)) : std::move(output)};
  return nodes.back().outputs[0];
}

// Per-channel scales of a convolution are broadcast over the spatial axes. Gemm's alpha is folded into the
// scales.
std::string DynamicWriter::scales(const Node& node, const Constant& weight) {
  Parameters parameters = weight.parameters;
  const float alpha = node.op_type.str() == "Gemm" ? attribute_or(node, "alpha", 1.0F) : 1.0F;
  for (float& scale : parameters.scales) scale *= alpha;
  if (is_conv(node) && !parameters.per_tensor()) parameters.dims.resize(weight.quantized.dims.size() - 1, 1);
  return constant(scale_tensor(parameters, {}), weight.name + "_scale");
}

DynamicWriter::QuantizedNames DynamicWriter::weight(const Node& node, const Constant& weight) {
  const bool turn = transposed(node);
  const float alpha = node.op_type.str() == "Gemm" ? attribute_or(node, "alpha", 1.0F) : 1.0F;
  const std::string key = fmt::format("{}\n{}\n{}\n{}", weight.name, turn, is_conv(node), alpha);
  if (const auto found = weights_.find(key); found != weights_.end()) return found->second;
  Tensor quantized = weight.quantized;
  if (turn) {
    quantized.data = turned(quantized.data, 1, quantized.dims[0], quantized.dims[1]);
    std::swap(quantized.dims[0], quantized.dims[1]);
  }
  QuantizedNames written{
      constant(std::move(quantized), weight.name + "_quantized"), scales(node, weight), {}};
  Parameters zero = weight.parameters;
  const std::int32_t first = zero.zero_points.front();
  // A per-tensor zero point where all are equal: some runtimes' ConvInteger supports no other.
  if (std::ranges::all_of(zero.zero_points, [first](std::int32_t one) { return one == first; })) {
    zero.zero_points = {first};
    zero.dims.clear();
  }
  if (!zero.per_tensor() || first != 0)
    written.zero_point = constant(zero_point_tensor(zero, {}), weight.name + "_zero_point");
  return weights_[key] = written;
}

DynamicWriter::QuantizedNames DynamicWriter::data(const std::string& value, bool symmetric, bool signed_data,
                                                  std::vector<Node>& nodes) {
  const std::string key = fmt::format("{}\n{}\n{}", value, symmetric, signed_data);
  if (const auto found = data_.find(key); found != data_.end()) return found->second;
  return data_[key] = symmetric ? symmetric_about_zero(value, signed_data, nodes)
                                : asymmetric_min_max(value, signed_data, nodes);
}

// The minimum or maximum of a whole tensor, as a scalar.
std::string DynamicWriter::extreme(const char* op, const std::string& of, const std::string& about,
                                   std::vector<Node>& nodes) {
  std::string found = apply(op, {of}, about, nodes);
  nodes.back().attributes.push_back(graph::attribute("keepdims", std::int64_t{0}));
  return found;
}

// The scale of a range, at least the smallest normal float: a tensor of zeros must not get scale 0.
std::string DynamicWriter::step(const std::string& range, float steps, const std::string& about,
                                std::vector<Node>& nodes) {
  const std::string one = apply("Div", {range, number(steps, about + "_steps")}, about, nodes);
  return apply("Max", {one, number(1.17549435e-38F, about + "_least")}, about, nodes);
}

// Symmetric: the largest magnitude maps to ±127 steps from the zero point, which is 0 or 128.
DynamicWriter::QuantizedNames DynamicWriter::symmetric_about_zero(const std::string& value, bool signed_data,
                                                                  std::vector<Node>& nodes) {
  QuantizedNames written;
  const std::string largest = extreme("ReduceMax", apply("Abs", {value}, value, nodes), value, nodes);
  written.scale = step(largest, 127.0F, value, nodes);
  const Parameters zero{.type = signed_data ? ElementType::int8 : ElementType::uint8,
                        .scales = {1.0F},
                        .zero_points = {signed_data ? 0 : 128}};
  const std::string zero_point = constant(zero_point_tensor(zero, {}), value + "_zero_point");
  written.value = apply("QuantizeLinear", {value, written.scale, zero_point}, value, nodes);
  if (!signed_data) written.zero_point = zero_point;
  return written;
}

// Asymmetric: uint8 by DynamicQuantizeLinear, which supports nothing else; int8 by the same formulas.
DynamicWriter::QuantizedNames DynamicWriter::asymmetric_min_max(const std::string& value, bool signed_data,
                                                                std::vector<Node>& nodes) {
  QuantizedNames written;
  if (!signed_data) {
    written.value = apply("DynamicQuantizeLinear", {value}, value, nodes);
    written.scale = names_.fresh(value + "_scale");
    written.zero_point = names_.fresh(value + "_zero_point");
    nodes.back().outputs.insert(nodes.back().outputs.end(), {written.scale, written.zero_point});
    return written;
  }
  const std::string zero = number(0.0F, value + "_zero");
  const std::string lowest = number(-128.0F, value + "_lowest");
  const std::string low = apply("Min", {extreme("ReduceMin", value, value, nodes), zero}, value, nodes);
  const std::string high = apply("Max", {extreme("ReduceMax", value, value, nodes), zero}, value, nodes);
  written.scale = step(apply("Sub", {high, low}, value, nodes), 255.0F, value, nodes);
  const std::string steps = apply("Div", {low, written.scale}, value, nodes);
  const std::string place = apply("Sub", {lowest, steps}, value, nodes);
  const std::string held = apply("Clip", {place, lowest, number(127.0F, value + "_highest")}, value, nodes);
  written.zero_point = apply("Cast", {apply("Round", {held}, value, nodes)}, value, nodes);
  nodes.back().attributes.push_back(graph::attribute("to", static_cast<std::int64_t>(ElementType::int8)));
  written.value = apply("QuantizeLinear", {value, written.scale, written.zero_point}, value, nodes);
  return written;
}

std::vector<Node> DynamicWriter::write(const Node& node, const DynamicLayer& dynamic) {
  if (node.op_type.str() == "LSTM") return write_lstm(node, dynamic);
  if (node.op_type.str() == "Attention") return write_attention(node, dynamic);
  return write_linear(node, dynamic);
}

std::vector<Node> DynamicWriter::write_linear(const Node& node, const DynamicLayer& dynamic) {
  std::vector<Node> nodes;
  const std::string& about = node.name.empty() ? node.outputs[0] : node.name.str();
  // Some runtimes' ConvInteger supports uint8 activations only.
  const QuantizedNames x =
      data(node.inputs[0], dynamic.symmetric, dynamic.signed_data && !is_conv(node), nodes);
  const QuantizedNames w = weight(node, dynamic.weights[0]);
  std::vector<std::string> inputs{x.value, w.value};
  if (!x.zero_point.empty() || !w.zero_point.empty()) inputs.push_back(x.zero_point);
  if (!w.zero_point.empty()) inputs.push_back(w.zero_point);
  const std::string sums = apply(is_conv(node) ? "ConvInteger" : "MatMulInteger", inputs, about, nodes);
  if (is_conv(node)) nodes.back().attributes = node.attributes;
  const std::string real = apply("Cast", {sums}, about, nodes);
  nodes.back().attributes.push_back(graph::attribute("to", static_cast<std::int64_t>(ElementType::float32)));
  const std::string both = apply("Mul", {x.scale, w.scale}, about + "_scales", nodes);
  const bool biased = has_bias(node);
  const std::string sum_name =
      apply("Mul", {real, both}, about, nodes, biased ? std::string() : node.outputs[0]);
  if (!biased) return nodes;
  std::string bias = node.inputs[2];
  if (is_conv(node)) bias = spread(bias, dynamic.weights[0].quantized.dims.size() - 2, about, nodes);
  apply("Add", {sum_name, bias}, about, nodes, node.outputs[0]);
  return nodes;
}

// Reshapes a per-channel bias to broadcast over the spatial axes.
std::string DynamicWriter::spread(const std::string& bias, std::size_t axes, const std::string& about,
                                  std::vector<Node>& nodes) {
  std::vector<std::int64_t> dims(axes + 1, 1);
  dims[0] = -1;
  Tensor shape;
  shape.element = static_cast<std::int32_t>(ElementType::int64);
  shape.dims = {static_cast<std::int64_t>(dims.size())};
  shape.data = Bytes::own(std::move(dims));
  return apply("Reshape", {bias, constant(std::move(shape), about + "_bias_shape")}, about + "_bias", nodes);
}

}  // namespace anybit::lower
