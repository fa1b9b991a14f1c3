#include "api/common_layers.hpp"

#include <algorithm>
#include <unordered_set>

#include "graph/constant.hpp"
#include "graph/index.hpp"
#include "graph/node.hpp"
#include "graph/quantization.hpp"
#include "ops/table.hpp"

namespace anybit {
namespace {

// The outputs of nodes of a model that depend on its inputs, or on random numbers.
class Activations {
 public:
  explicit Activations(const graph::Model& model) : constants_(model) { add(*model.graph); }

  std::vector<CommonLayer> list() && { return std::move(list_); }

 private:
  void add(const graph::Graph& graph) {
    for (const graph::Node& node : graph.nodes) {
      if (is_constant(node)) {
        computed_.insert(node.outputs.begin(), node.outputs.end());
        continue;
      }
      for (const std::string& output : node.outputs) {
        if (!output.empty()) list_.push_back({output, node.op_type.str(), {}, node.name.str()});
      }
      graph::each_graph(node, [&](const graph::Graph& inner) { add(inner); });
    }
  }

  bool is_constant(const graph::Node& node) const {
    if (graph::is(node, "Constant")) return true;
    const ops::Descriptor* row = ops::find(node.domain.str(), node.op_type.str());
    if (!row || !row->run || !row->pure || node.inputs.empty()) return false;
    bool has_graphs = false;
    graph::each_graph(node, [&](const graph::Graph&) { has_graphs = true; });
    return !has_graphs && std::ranges::all_of(node.inputs, [&](const std::string& name) {
      return name.empty() || computed_.contains(name) || constants_.find(name);
    });
  }

  const graph::Constants constants_;
  std::unordered_set<std::string> computed_;  // from constants alone
  std::vector<CommonLayer> list_;
};

// The nodes of the other model that make values.
class Makers {
 public:
  explicit Makers(const graph::Graph& graph) : graph_(graph), index_(graph) {}

  // null if there is none
  const graph::Node* of(const std::string& value) const {
    const graph::Node* node = maker(value);
    // A value that kept its name is dequantized: its maker is before the pair.
    for (int i = 0; node && i < 2 && (graph::dequantizes(*node) || graph::quantizes(*node)); ++i)
      node = maker(graph::input(*node, 0));
    return node;
  }

  // Whether the node computes on quantized values or weights.
  bool quantized(const graph::Node* node) const {
    if (!node) return false;
    const ops::Descriptor* row = ops::find(node->domain.str(), node->op_type.str());
    if (!row || row->traits.role_in(*node) == ops::Traits::Role::move) return false;
    return !row->quantized.empty() || std::ranges::any_of(node->inputs, [&](const std::string& input) {
      const graph::Node* one = maker(input);
      // Weights in blocks are reshaped after they are decoded.
      if (one && one->op_type.str() == "Reshape") one = maker(graph::input(*one, 0));
      return one && (graph::dequantizes(*one) || one->domain.str() == graph::kAnybit ||
                     one->op_type.str() == "Cast");
    });
  }

 private:
  const graph::Node* maker(const std::string& value) const {
    const int producer = index_.producer(value);
    return producer < 0 ? nullptr : &graph_.nodes[static_cast<std::size_t>(producer)];
  }
  const graph::Graph& graph_;
  graph::Index index_;
};

}  // namespace

std::vector<CommonLayer> common_layers(const graph::Model& reference, const graph::Model& other) {
  std::vector<CommonLayer> common;
  std::vector<CommonLayer> ours = Activations(reference).list(), theirs = Activations(other).list();
  const Makers makers(*other.graph);
  std::unordered_set<std::string> own, names, taken;
  for (const CommonLayer& one : ours) own.insert(one.name);
  for (const CommonLayer& one : theirs) names.insert(one.name);
  for (CommonLayer& one : ours) {
    if (!taken.insert(one.name).second) continue;  // sibling graphs may use the same names
    const std::string dequantized = one.name + "_DequantizeLinear_Output";
    if (names.count(dequantized) && !own.count(dequantized)) {  // else the reference is quantized, too
      one.other = dequantized;
    } else if (names.count(one.name)) {
      one.other = one.name;
    } else {
      continue;
    }
    const graph::Node* maker = makers.of(one.name);
    one.quantized = makers.quantized(maker);
    if (maker && !maker->name.str().empty() &&
        maker->name.str() != one.node) {  // a node of the prepared model
      one.node = maker->name.str();
      one.op = maker->op_type.str();
    }
    common.push_back(std::move(one));
  }
  return common;
}

}  // namespace anybit
