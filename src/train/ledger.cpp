#include "train/ledger.hpp"

#include <algorithm>

#include "graph/index.hpp"
#include "ops/infer.hpp"
#include "ops/rules.hpp"

namespace anybit::train {
namespace {

using graph::Graph;
using graph::Node;

struct Uses {
  std::vector<std::string> used;
  std::unordered_set<std::string> seen;

  void add(const std::string& name) {
    if (!name.empty() && seen.insert(name).second) used.push_back(name);
  }
  void add_all(const Graph& graph) {
    std::unordered_set<std::string> inner;
    for (const graph::ValueInfo& one : graph.inputs) seen.insert(one.name.str());
    for (const graph::Tensor& one : graph.initializers) seen.insert(one.name.str());
    for (const Node& node : graph.nodes) {
      for (const std::string& name : node.inputs) add(name);
      graph::each_graph(node, [&](const Graph& deeper) { add_all(deeper); });
      seen.insert(node.outputs.begin(), node.outputs.end());
    }
    for (const graph::ValueInfo& one : graph.outputs) add(one.name.str());
  }
};

}  // namespace

bool holds_graphs(const Node& node) {
  bool any = false;
  graph::each_graph(node, [&](const Graph&) { any = true; });
  return any;
}

std::vector<std::string> captured_by(const Node& node) {
  Uses uses;
  graph::each_graph(node, [&](const Graph& inner) { uses.add_all(inner); });
  return std::move(uses.used);
}

Result<Ledger> Ledger::of(const graph::Model& model) {
  Ledger ledger(model);
  const ops::Inference inference = TRY(ops::infer(model));
  for (std::size_t i = 0; i < inference.graphs.size(); ++i) {
    const Graph& graph = *inference.graphs[i].graph;
    const auto& inputs = inference.graphs[i].inputs;
    for (std::size_t k = 0; k < graph.inputs.size() && k < inputs.size(); ++k)
      ledger.note(graph.inputs[k].name.str(), *inputs[k]);
    for (const graph::Tensor& one : graph.initializers) ledger.note(one.name.str(), ops::value_of(one));
  }
  for (const ops::NodeFacts& node : inference.nodes) {
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      const std::string& name = node.node->outputs[k];
      if (!name.empty()) ledger.note(name, node.outputs[k]);
    }
  }
  return ledger;
}

const ops::Value& Ledger::facts(const std::string& value) const {
  static const ops::Value unknown;
  const auto found = facts_.find(value);
  return found == facts_.end() ? unknown : found->second;
}

// A value of unknown type may be a float.
bool Ledger::is_float(const std::string& value) const {
  const ops::Value& known = facts(value);
  return known.type == ops::ElementType::undefined || ops::is_float(known.type);
}

bool Ledger::depends(const Node& node) const {
  const auto marked = [&](const std::string& name) { return depends(name); };
  return std::ranges::any_of(node.inputs, marked) ||
         (holds_graphs(node) && std::ranges::any_of(captured_by(node), marked));
}

void Ledger::spread(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    graph::each_graph(node, [&](const Graph& inner) { spread(inner); });
    if (!depends(node)) continue;
    for (const std::string& name : node.outputs) {
      if (!name.empty() && is_float(name)) mark(name);
    }
  }
}

std::int64_t Ledger::opset_of(const Node& node) const {
  return node.opset.value_or(model_->opset(node.domain.str()).value_or(1));
}

}  // namespace anybit::train
