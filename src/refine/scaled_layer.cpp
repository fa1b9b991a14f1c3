#include "refine/scaled_layer.hpp"

#include <algorithm>
#include <cmath>

#include "graph/constant.hpp"
#include "graph/node.hpp"

namespace anybit::quantizing {
namespace {

using graph::Graph;
using graph::Node;

graph::Tensor* initializer(Graph& graph, std::string_view name) {
  for (graph::Tensor& one : graph.initializers) {
    if (one.name.str() == name) return &one;
  }
  return nullptr;
}

bool is_own(const Graph& graph, const graph::Index& index, const std::string& name) {
  return index.uses(name).size() == 1 && index.constant(name) && index.producer(name) < 0 &&
         std::ranges::any_of(graph.initializers,
                             [&](const graph::Tensor& one) { return one.name.str() == name; });
}

}  // namespace

std::optional<ScaledLayer> scaled_layer(const Graph& graph, const graph::Index& index,
                                        const graph::Constants& constants, int at) {
  const Node& node = graph.nodes[static_cast<std::size_t>(at)];
  auto linear = passes::linear_of(node, constants);
  if (!linear || !is_own(graph, index, node.inputs[1])) return std::nullopt;
  const bool has_bias = linear->kind != passes::Linear::Kind::matmul && !graph::input(node, 2).empty();
  // A bias that broadcasts has no values of its own for the channels.
  if (has_bias && (!is_own(graph, index, node.inputs[2]) || graph::real(node, "beta", 1) != 1 ||
                   index.constant(node.inputs[2])->count() != linear->outputs))
    return std::nullopt;
  return ScaledLayer{at, *std::move(linear), has_bias};
}

void store(Graph& graph, const ScaledLayer& layer) {
  const Node& node = graph.nodes[static_cast<std::size_t>(layer.node)];
  graph::Tensor& weights = *initializer(graph, node.inputs[1]);
  weights = graph::make_tensor(node.inputs[1], layer.linear.dims, layer.linear.weights);
  if (!layer.has_bias) return;
  std::vector<float> values(layer.linear.bias.size());
  std::ranges::transform(layer.linear.bias, values.begin(),
                         [](double one) { return static_cast<float>(one); });
  graph::Tensor& bias = *initializer(graph, node.inputs[2]);
  bias = graph::make_tensor(node.inputs[2], bias.dims, std::move(values));
}

std::vector<double> ScaledLayer::output_ranges() const {
  std::vector<double> ranges(static_cast<std::size_t>(linear.outputs));
  linear.each_weight([&](std::size_t i, std::size_t output, std::size_t) {
    ranges[output] = std::max(ranges[output], std::abs(static_cast<double>(linear.weights[i])));
  });
  return ranges;
}

std::vector<double> ScaledLayer::input_ranges() const {
  std::vector<double> ranges(static_cast<std::size_t>(linear.inputs));
  linear.each_weight([&](std::size_t i, std::size_t, std::size_t input) {
    ranges[input] = std::max(ranges[input], std::abs(static_cast<double>(linear.weights[i])));
  });
  return ranges;
}

}  // namespace anybit::quantizing
