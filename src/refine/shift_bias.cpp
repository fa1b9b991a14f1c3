#include "refine/shift_bias.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "graph/constant.hpp"
#include "graph/index.hpp"
#include "graph/names.hpp"
#include "graph/node.hpp"
#include "ops/table.hpp"

namespace anybit::quantizing {
namespace {

using graph::Graph;
using graph::Node;
using graph::Tensor;

// Returns true for a constant with one element per channel, along its last dimension.
bool is_by_channel(const Tensor* tensor, std::size_t channels) {
  return tensor && tensor->type() == graph::ElementType::float32 && !tensor->dims.empty() &&
         tensor->dims.back() == static_cast<std::int64_t>(channels) &&
         tensor->count() == static_cast<std::int64_t>(channels);
}

// The location of a node's bias: an input of its own, or of a following Add.
struct BiasPlace {
  int node;
  std::size_t input;
};

std::optional<BiasPlace> bias_of(const Graph& graph, const graph::Index& index, int at) {
  const Node& node = graph.nodes[static_cast<std::size_t>(at)];
  BiasPlace place{at, 2};
  if (graph::is(node, "MatMul")) {
    place.node = index.only_user(node.outputs[0]);
    if (place.node < 0) return std::nullopt;
    const Node& add = graph.nodes[static_cast<std::size_t>(place.node)];
    if (!graph::is(add, "Add")) return std::nullopt;
    place.input = add.inputs[0] == node.outputs[0] ? 1 : 0;
  } else if (node.inputs.size() < 3 || graph::real(node, "beta", 1) != 1) {  // beta: of a Gemm
    return std::nullopt;
  }
  const std::string& bias = graph.nodes[static_cast<std::size_t>(place.node)].inputs[place.input];
  const auto channels = static_cast<std::size_t>(channels_of(node, index));
  if (channels == 0 || !is_by_channel(index.constant(bias), channels)) return std::nullopt;
  return place;
}

}  // namespace

std::int64_t channels_of(const Node& node, const graph::Index& index) {
  const Tensor* weights = index.constant(node.inputs[1]);
  if (!weights || weights->dims.size() < 2) return 0;
  if (graph::is(node, "Conv")) return weights->dims[0];
  if (graph::is(node, "ConvTranspose")) return weights->dims[1] * graph::integer(node, "group", 1);
  const bool transposed = graph::is(node, "Gemm") && graph::integer(node, "transB", 0) != 0;
  return transposed ? weights->dims[0] : weights->dims.back();
}

bool may_have_bias(const Node& node) {
  if (!graph::canonical_domain(node.domain.str()).empty()) return false;
  const ops::Descriptor* descriptor = ops::find("", node.op_type.str());
  return descriptor && descriptor->traits.linear != ops::Traits::Linear::none;
}

std::vector<int> with_biases(Graph& graph, std::vector<int> nodes) {
  std::vector<std::pair<int, std::int64_t>> missing;
  {
    const graph::Index index(graph);
    for (const int at : nodes) {
      const Node& node = graph.nodes[static_cast<std::size_t>(at)];
      if (graph::is(node, "MatMul") || !graph::input(node, 2).empty()) continue;
      if (const std::int64_t channels = channels_of(node, index); channels > 0)
        missing.emplace_back(at, channels);
    }
  }
  graph::Names names(graph);
  for (const auto& [at, channels] : missing) {
    Node& node = graph.nodes[static_cast<std::size_t>(at)];
    node.inputs.resize(3);
    node.inputs[2] = names.fresh(node.outputs[0] + "_bias");
    graph.initializers.push_back(graph::make_tensor(node.inputs[2], {channels},
                                                    std::vector<float>(static_cast<std::size_t>(channels))));
  }
  const graph::Index index(graph);
  std::erase_if(nodes, [&](int at) { return !bias_of(graph, index, at); });
  return nodes;
}

std::vector<int> that_can_have_biases(const Graph& graph, std::vector<int> nodes) {
  const graph::Index index(graph);
  std::erase_if(nodes, [&](int at) {
    const Node& node = graph.nodes[static_cast<std::size_t>(at)];
    if (graph::is(node, "MatMul") || !graph::input(node, 2).empty()) return !bias_of(graph, index, at);
    return channels_of(node, index) <= 0 || graph::real(node, "beta", 1) != 1;
  });
  return nodes;
}

std::int64_t shift_biases(Graph& graph, std::span<const int> nodes,
                          std::span<const std::vector<double>> shifts) {
  struct Shifted {
    BiasPlace place;
    Tensor tensor;
    std::optional<std::size_t> instead;  // the initializer that it replaces; std::nullopt: none
  };
  std::vector<Shifted> all;
  {
    const graph::Index index(graph);
    std::unordered_map<std::string_view, std::size_t> initializers, taken;  // taken: removed uses
    for (std::size_t i = 0; i < graph.initializers.size(); ++i)
      initializers.emplace(graph.initializers[i].name.str(), i);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      const auto place = shifts[i].empty() ? std::nullopt : bias_of(graph, index, nodes[i]);
      if (!place) continue;
      const std::string& name = graph.nodes[static_cast<std::size_t>(place->node)].inputs[place->input];
      const Tensor& before = *index.constant(name);
      std::vector<float> bias = *graph::floats(&before);
      if (bias.size() != shifts[i].size()) continue;
      for (std::size_t k = 0; k < bias.size(); ++k)
        bias[k] = static_cast<float>(static_cast<double>(bias[k]) + shifts[i][k]);
      if (!std::ranges::all_of(bias, [](float one) { return std::isfinite(one); })) continue;
      all.push_back({*place, graph::make_tensor(name, before.dims, std::move(bias)), {}});
      Shifted& shifted = all.back();
      const auto own = initializers.find(name);
      if (own != initializers.end() && index.uses(name).size() - taken[name]++ == 1)
        shifted.instead = own->second;
    }
  }
  graph::Names names(graph);
  for (Shifted& one : all) {
    if (one.instead) {
      graph.initializers[*one.instead] = std::move(one.tensor);
      continue;
    }
    std::string& name = graph.nodes[static_cast<std::size_t>(one.place.node)].inputs[one.place.input];
    name = names.fresh(name + "_shifted");
    one.tensor.name = graph::Text(name);
    graph.initializers.push_back(std::move(one.tensor));
  }
  return std::ssize(all);
}

}  // namespace anybit::quantizing
