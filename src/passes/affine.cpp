#include "passes/affine.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace anybit::passes {
namespace {

using graph::Node;
using graph::Tensor;

// One number per channel.
std::optional<std::vector<double>> by_channel(const Tensor* tensor, std::int64_t count) {
  const auto values = floats(tensor);
  if (!values || std::ssize(*values) != count) return std::nullopt;
  return std::vector<double>(values->begin(), values->end());
}

// The optional bias, in any shape that broadcasts to [rows, count]; times `factor`.
std::optional<std::vector<double>> bias_of(const std::string& name, const graph::Constants& constants,
                                           std::int64_t count, double factor = 1.0) {
  std::vector<double> bias(static_cast<std::size_t>(count), 0.0);
  if (name.empty()) return bias;
  const Tensor* tensor = constants.find(name);
  const auto values = floats(tensor);
  if (!values || (std::ssize(*values) != count && values->size() != 1)) return std::nullopt;
  if (values->size() != 1 && tensor->dims.back() != count) return std::nullopt;
  for (std::size_t i = 0; i < bias.size(); ++i)
    bias[i] = factor * static_cast<double>((*values)[values->size() == 1 ? 0 : i]);
  return bias;
}

// False if a result is NaN or infinity.
bool multiply(std::span<float> weights, double factor) {
  bool finite = true;
  for (float& weight : weights) {
    weight = static_cast<float>(static_cast<double>(weight) * factor);
    finite &= std::isfinite(weight);
  }
  return finite;
}

bool is_scaled(const Node& node) {  // a Gemm
  return real(node, "alpha", 1.0) != 1.0 || integer(node, "transA", 0) != 0;
}

}  // namespace

std::optional<Affine> normalization(const Node& node, const graph::Constants& constants,
                                    const graph::Index& index, std::int64_t opset) {
  if (!is(node, "BatchNormalization") || node.inputs.size() != 5 || node.outputs.empty() || opset < 7 ||
      integer(node, "training_mode", 0) != 0 || integer(node, "spatial", 1) != 1)
    return std::nullopt;
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    if (!index.uses(node.outputs[i]).empty()) return std::nullopt;
  }
  const auto scale = floats(constants.find(node.inputs[1]));
  if (!scale) return std::nullopt;
  const auto channels = std::ssize(*scale);
  const auto shift = by_channel(constants.find(node.inputs[2]), channels);
  const auto mean = by_channel(constants.find(node.inputs[3]), channels);
  const auto variance = by_channel(constants.find(node.inputs[4]), channels);
  if (!shift || !mean || !variance) return std::nullopt;
  Affine affine;
  const double epsilon = real(node, "epsilon", 1e-5);
  for (std::size_t c = 0; c < scale->size(); ++c) {
    affine.factor.push_back(static_cast<double>((*scale)[c]) / std::sqrt((*variance)[c] + epsilon));
    affine.offset.push_back((*shift)[c] - (*mean)[c] * affine.factor[c]);
  }
  return affine;
}

bool may_change(const Node& node, const graph::Constants& constants, const graph::Index& index,
                const PassOptions& options) {
  const Tensor* weights = constants.find(input(node, 1));
  return weights && (index.uses(node.inputs[1]).size() <= 1 ||
                     static_cast<std::int64_t>(weights->data.size()) <= options.growth);
}

std::optional<Linear> linear_of(const Node& node, const graph::Constants& constants) {
  Linear linear{};
  if (node.outputs.empty()) return std::nullopt;
  if (is(node, "Conv")) {
    linear.kind = Linear::Kind::conv;
  } else if (is(node, "ConvTranspose")) {
    linear.kind = Linear::Kind::conv_transpose;
  } else if (is(node, "Gemm") && !is_scaled(node)) {
    linear.kind = Linear::Kind::gemm;
  } else if (is(node, "MatMul")) {
    linear.kind = Linear::Kind::matmul;
  } else {
    return std::nullopt;
  }
  const Tensor* tensor = constants.find(input(node, 1));
  auto weights = floats(tensor);
  const bool convolves = linear.kind == Linear::Kind::conv || linear.kind == Linear::Kind::conv_transpose;
  if (!weights || weights->empty() || (convolves ? tensor->dims.size() < 3 : tensor->dims.size() != 2))
    return std::nullopt;
  linear.dims = tensor->dims;
  linear.weights = *std::move(weights);
  linear.groups = convolves ? integer(node, "group", 1) : 1;
  linear.transposed = linear.kind == Linear::Kind::gemm && integer(node, "transB", 0) != 0;
  if (linear.groups < 1 || linear.dims[0] % linear.groups != 0) return std::nullopt;
  linear.outputs = linear.kind == Linear::Kind::conv || linear.transposed ? linear.dims[0] : linear.dims[1];
  linear.inputs = linear.kind == Linear::Kind::conv || linear.transposed ? linear.dims[1] : linear.dims[0];
  if (linear.kind == Linear::Kind::conv) linear.inputs *= linear.groups;
  if (linear.kind == Linear::Kind::conv_transpose) linear.outputs *= linear.groups;
  const double beta = linear.kind == Linear::Kind::gemm ? real(node, "beta", 1.0) : 1.0;
  auto bias = bias_of(linear.kind == Linear::Kind::matmul ? std::string() : input(node, 2), constants,
                      linear.outputs, beta);
  if (!bias) return std::nullopt;
  linear.bias = *std::move(bias);
  return linear;
}

bool Linear::put_after(const Affine& affine) {
  if (std::ssize(affine.factor) != outputs) return false;
  bool finite = true;
  if (kind == Kind::conv || transposed) {  // the weights of one output are contiguous
    const std::size_t each = weights.size() / static_cast<std::size_t>(outputs);
    for (std::size_t c = 0; c < static_cast<std::size_t>(outputs); ++c)
      finite = multiply(std::span(weights).subspan(c * each, each), affine.factor[c]) && finite;
  } else {
    each_weight([&](std::size_t i, std::size_t output, std::size_t) {
      finite = multiply(std::span(&weights[i], 1), affine.factor[output]) && finite;
    });
  }
  for (std::size_t c = 0; c < bias.size(); ++c) {
    bias[c] = bias[c] * affine.factor[c] + affine.offset[c];
    finite = finite && std::isfinite(static_cast<float>(bias[c]));
  }
  return finite;
}

bool Linear::put_before(const Affine& affine) {
  if (std::ssize(affine.factor) != inputs) return false;
  bool finite = true;
  each_weight([&](std::size_t i, std::size_t output, std::size_t input) {
    bias[output] += static_cast<double>(weights[i]) * affine.offset[input];
    finite = multiply(std::span(&weights[i], 1), affine.factor[input]) && finite;
  });
  return finite &&
         std::ranges::all_of(bias, [](double one) { return std::isfinite(static_cast<float>(one)); });
}

bool set_weights(graph::Graph& graph, Node& node, const Linear& linear, graph::Names& names,
                 const PassOptions& options) {
  const auto bytes = static_cast<std::int64_t>((linear.weights.size() + linear.bias.size()) * sizeof(float));
  if (options.memory && !options.memory->count(bytes).ok()) return false;
  const std::string before = node.inputs[1];
  node.inputs.resize(3);
  const std::string was = node.inputs[2].empty() ? before + "_bias" : node.inputs[2];
  node.inputs[1] = names.fresh(before + "_folded");
  node.inputs[2] = names.fresh(was + "_folded");
  std::vector<float> bias(linear.bias.size());
  std::ranges::transform(linear.bias, bias.begin(), [](double one) { return static_cast<float>(one); });
  graph.initializers.push_back(graph::make_tensor(node.inputs[1], linear.dims, linear.weights));
  graph.initializers.push_back(graph::make_tensor(node.inputs[2], {linear.outputs}, std::move(bias)));
  if (linear.kind == Linear::Kind::matmul) node.op_type = graph::Text("Gemm");
  if (linear.kind == Linear::Kind::gemm) remove_attribute(node, "beta");
  return true;
}

}  // namespace anybit::passes
