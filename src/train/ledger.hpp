// What is known about the values of a model while its backward graph is built: names, types, shapes, and
// which values depend on the wanted ones.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "graph/names.hpp"
#include "ops/op.hpp"

namespace anybit::train {

// Names of values are unique in the whole model, so one table holds those of all graphs.
class Ledger {
 public:
  // The model must not change as long as the ledger lives.
  static Result<Ledger> of(const graph::Model& model);

  const ops::Value& facts(const std::string& value) const;
  void note(const std::string& value, ops::Value facts) { facts_[value] = std::move(facts); }
  bool is_float(const std::string& value) const;
  // Floats, and codes of QuantizeLinear: their gradient is that by the number they stand for.
  bool has_gradient(const std::string& value) const { return is_float(value) || codes_.contains(value); }

  // Marks the values that depend on marked ones, in all graphs.
  void spread(const graph::Graph& graph);
  void mark(const std::string& value) { depends_.insert(value); }
  bool depends(const std::string& value) const { return depends_.contains(value); }
  bool depends(const graph::Node& node) const;

  // Facts about the outputs of a node, from those of its inputs. Not for nodes that hold graphs.
  Result<ops::Values> infer(const graph::Node& node) const;
  // The opset of a node's domain.
  std::int64_t opset_of(const graph::Node& node) const;

  graph::Names names;

 private:
  explicit Ledger(const graph::Model& model) : names(model), model_(&model) {}
  void name_sizes();
  bool holds_codes(const graph::Node& node) const;

  const graph::Model* model_;
  std::unordered_map<std::string, ops::Value> facts_;
  std::unordered_set<std::string> depends_, codes_;
};

bool holds_graphs(const graph::Node& node);
// The values that the graphs inside a node use of the graphs around it, in the order of their first use.
std::vector<std::string> captured_by(const graph::Node& node);

}  // namespace anybit::train
