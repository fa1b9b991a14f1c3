#include "train/ledger.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "graph/index.hpp"
#include "graph/node.hpp"
#include "ops/check.hpp"
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

struct PlainCall final : ops::Call {
  explicit PlainCall(const Node& of) : Call(of) {}
  const graph::Attribute* find(std::string_view name) const override { return node.attribute(name); }
  Result<ops::Body> enter(const Graph& graph, const ops::Values&, std::string_view) const override {
    return ops::Body{ops::Values(graph.outputs.size())};
  }
  void repeat(const ops::Body&, const ops::Dim&) const override {}
  void rule_out(const ops::Body&) const override {}
  std::int64_t work(const ops::Body&) const override { return 0; }
};

// Unknown sizes of `facts` get names of their own; what only `other` knows is added.
void name_unknown(ops::Value& facts, const ops::Value& other, const std::string& value) {
  if (!facts.shape) facts.shape = other.shape;
  if (!facts.shape) return;
  const bool fits = other.shape && other.shape->size() == facts.shape->size();
  for (std::size_t axis = 0; axis < facts.shape->size(); ++axis) {
    ops::Dim& size = (*facts.shape)[axis];
    if (size.known()) continue;
    if (fits && ((*other.shape)[axis].known() || size.symbol.empty())) size = (*other.shape)[axis];
    if (!size.known() && size.symbol.empty()) size.symbol = fmt::format("{}:{}", value, axis);
  }
}

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
      if (!name.empty() && ledger.holds_codes(*node.node)) ledger.codes_.insert(name);
    }
  }
  ledger.name_sizes();
  return ledger;
}

// A size that inference cannot name, for example of a convolution of an image of any height, has one name in
// all values that inherit it: where the same name stands nothing was broadcast.
void Ledger::name_sizes() {
  for (const graph::ValueInfo& one : model_->graph->inputs)
    name_unknown(facts_[one.name.str()], {}, one.name.str());
  for (const Node& node : model_->graph->nodes) {
    auto inferred = holds_graphs(node) ? Result<ops::Values>(ops::Values()) : infer(node);
    if (!inferred.ok()) continue;
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty()) continue;
      ops::Value& facts = facts_[node.outputs[i]];
      ops::Value named = i < inferred->size() ? std::move((*inferred)[i]) : facts;
      if (named.type != facts.type) named = facts;
      name_unknown(named, facts, node.outputs[i]);
      named.constant = facts.constant;
      facts = std::move(named);
    }
  }
}

Result<ops::Values> Ledger::infer(const Node& node) const {
  const ops::Descriptor* descriptor = ops::find(node.domain.str(), node.op_type.str());
  if (!descriptor)
    return error_at(Code::unsupported, {}, fmt::format("{} is no operator of anybit", node.op_type.str()));
  PlainCall call(node);
  static const ops::Value unknown;
  std::vector<const ops::Value*> inputs;
  for (const std::string& name : node.inputs) inputs.push_back(name.empty() ? &unknown : &facts(name));
  call.inputs = inputs;
  call.version = TRY(ops::checked_version(*descriptor, node, opset_of(node)));
  return descriptor->infer(call);
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

// The outputs of QuantizeLinear, and what only has another shape.
bool Ledger::holds_codes(const Node& node) const {
  static constexpr std::string_view kReshaped[] = {"Flatten", "Identity",  "Reshape",
                                                   "Squeeze", "Transpose", "Unsqueeze"};
  if (node.op_type.str() == "QuantizeLinear") return true;
  return node.domain.empty() && std::ranges::find(kReshaped, node.op_type.str()) != std::end(kReshaped) &&
         codes_.contains(graph::input(node, 0));
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
      if (!name.empty() && has_gradient(name)) mark(name);
    }
  }
}

std::int64_t Ledger::opset_of(const Node& node) const {
  return node.opset.value_or(model_->opset(node.domain.str()).value_or(1));
}

}  // namespace anybit::train
