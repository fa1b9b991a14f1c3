// Cross-layer equalization (Nagel et al., ICCV 2019, arXiv:1906.04721): the channels between two layers are
// scaled so that the weights of both have equal ranges per channel. The model computes the same, and one
// scale per tensor serves all channels.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "graph/constant.hpp"
#include "graph/index.hpp"
#include "graph/node.hpp"
#include "refine/scaled_layer.hpp"
#include "refine/table.hpp"

namespace anybit::quantizing {
namespace {

using graph::Graph;
using graph::Node;

constexpr int kMostRounds = 40;
constexpr double kLargestFactor = 1e4;  // of a channel, in one round
constexpr double kConverged = 1e-3;     // change of a factor

// f(s·x) = s·f(x) for s > 0, channel by channel.
bool is_homogeneous(const Node& node, const graph::Index& index) {
  if (!graph::canonical_domain(node.domain.str()).empty()) return false;
  if (graph::is(node, "PRelu")) return index.constant(graph::input(node, 1)) != nullptr;
  return graph::is(node, "Relu") || graph::is(node, "LeakyRelu") || graph::is(node, "Identity") ||
         graph::is(node, "Dropout") || graph::is(node, "MaxPool") || graph::is(node, "AveragePool") ||
         graph::is(node, "GlobalAveragePool") || graph::is(node, "GlobalMaxPool");
}

// Two layers with a chain of such functions between them.
struct Pair {
  int first, second;
};

class Equalizing {
 public:
  explicit Equalizing(graph::Model& model) : model_(model), graph_(*model.graph) {}

  std::int64_t run(const std::set<int>& asked) {
    {
      const graph::Index index(graph_);
      const graph::Constants constants(model_);
      for (const int node : asked) {
        const int second = behind(node, index);
        if (second < 0 || !asked.contains(second)) continue;
        if (take(node, index, constants) && take(second, index, constants) && fits({node, second}))
          pairs_.push_back({node, second});
      }
    }
    for (int round = 0; round < kMostRounds && equalize() > kConverged;) ++round;
    for (const auto& [node, layer] : layers_) {
      if (changed_.contains(node)) store(graph_, layer);
    }
    return std::ssize(changed_);
  }

 private:
  // The only layer that gets the values of a node, scaled as they are; -1: none.
  int behind(int at, const graph::Index& index) const {
    for (const Node* node = &graph_.nodes[static_cast<std::size_t>(at)];;) {
      const int next = index.only_user(node->outputs[0]);
      if (next < 0 || index.is_output(node->outputs[0])) return -1;
      const Node& user = graph_.nodes[static_cast<std::size_t>(next)];
      if (graph::input(user, 0) != node->outputs[0]) return -1;
      if (!is_homogeneous(user, index)) return next;
      node = &user;
    }
  }

  bool take(int node, const graph::Index& index, const graph::Constants& constants) {
    if (layers_.contains(node)) return true;
    auto layer = scaled_layer(graph_, index, constants, node);
    return layer && layers_.emplace(node, *std::move(layer)).second;
  }

  // A matrix multiplication behind a convolution has other channels.
  bool fits(const Pair& pair) const {
    const passes::Linear &first = layers_.at(pair.first).linear, &second = layers_.at(pair.second).linear;
    const auto convolves = [](const passes::Linear& one) {
      return one.kind == passes::Linear::Kind::conv || one.kind == passes::Linear::Kind::conv_transpose;
    };
    return first.outputs == second.inputs && convolves(first) == convolves(second);
  }

  // One round; returns the largest change of a factor.
  double equalize() {
    double largest = 0;
    for (const Pair& pair : pairs_) {
      ScaledLayer &first = layers_.at(pair.first), &second = layers_.at(pair.second);
      const std::vector<double> out = first.output_ranges(), in = second.input_ranges();
      passes::Affine down{std::vector<double>(out.size(), 1.0), std::vector<double>(out.size())}, up = down;
      for (std::size_t i = 0; i < out.size(); ++i) {
        if (!(out[i] > 0) || !(in[i] > 0)) continue;  // nothing that could be equalized
        const double factor = std::clamp(std::sqrt(out[i] / in[i]), 1 / kLargestFactor, kLargestFactor);
        down.factor[i] = 1 / factor;
        up.factor[i] = factor;
        largest = std::max(largest, std::abs(factor - 1));
      }
      passes::Linear before = first.linear, after = second.linear;
      if (!before.put_after(down) || !after.put_before(up)) continue;
      first.linear = std::move(before);
      second.linear = std::move(after);
      changed_.insert({pair.first, pair.second});
    }
    return largest;
  }

  graph::Model& model_;
  Graph& graph_;
  std::map<int, ScaledLayer> layers_;  // by node
  std::vector<Pair> pairs_;
  std::set<int> changed_;
};

Result<std::int64_t> equalize_model(Refining& work) {
  return Equalizing(work.model).run({work.layers.begin(), work.layers.end()});
}

}  // namespace

std::span<const Descriptor> equalize_descriptors() {
  static const Descriptor all[] = {
      {.name = "equalize",
       .alias = "cle",
       .summary = "cross-layer equalization: the channels between two layers get equal ranges of weights",
       .phase = Descriptor::Phase::graph,
       .refine = equalize_model}};
  return all;
}

}  // namespace anybit::quantizing
