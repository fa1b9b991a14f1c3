// What passes share: going over all graphs of a model, names, constants, and small questions about nodes.
// Everything here relies on names that are unique in the whole model (the pass `unique_names`).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/try.hpp"
#include "graph/index.hpp"
#include "graph/model.hpp"
#include "passes/table.hpp"

namespace anybit::passes {

// Calls `see` with the model's graph and all graphs inside nodes, the inner ones first.
template <class See>
void each_graph_inside(graph::Graph& graph, const See& see) {
  for (graph::Node& node : graph.nodes) {
    graph::each_graph(node, [&](graph::Graph& inner) { each_graph_inside(inner, see); });
  }
  see(graph);
}
template <class See>
void each_graph_of(graph::Model& model, const See& see) {
  if (model.graph) each_graph_inside(*model.graph, see);
}

// Whether a node anywhere in the model is of this type. If none is, a pass need not learn all about the
// values.
bool has_any(const graph::Model& model, std::string_view op_type);

// Names of values that a model does not use yet.
class Names {
 public:
  explicit Names(const graph::Model& model);
  void add(std::string_view used) { used_.emplace(used); }
  bool has(std::string_view name) const { return used_.find(name) != used_.end(); }
  // The name itself if it is free, else with a number after it. Taken from then on.
  std::string fresh(std::string_view wish);

 private:
  void add(const graph::Graph& graph);
  void add(const std::vector<graph::Node>& nodes);

  std::set<std::string, std::less<>> used_;
  std::map<std::string, std::size_t, std::less<>> numbers_;  // the last that was put after a wish
};

// Constants of all graphs, by name: initializers that no input may replace, and what Constant nodes hold. A
// picture of the model as it was; data is shared.
class Constants {
 public:
  explicit Constants(const graph::Model& model);
  // Those that are learned already, if there are any.
  Constants(const graph::Model& model, const PassOptions& options);
  const graph::Tensor* find(std::string_view name) const;

 private:
  using Found = std::unordered_map<std::string, graph::Tensor>;
  static void add(const graph::Graph& graph, Found& found);
  std::shared_ptr<const Found> found_;
};

// Values that take another's place: collected first, then put in place all at once.
class Renames {
 public:
  void add(std::string from, std::string to) { to_.emplace(std::move(from), std::move(to)); }
  bool empty() const { return to_.empty(); }
  bool has(const std::string& name) const { return to_.contains(name); }
  // Through all renames. Chains are made short on the way.
  const std::string& of(const std::string& name) const;
  // What the nodes of the graph, and of those inside them, use. What they make stays.
  void apply(graph::Graph& graph) const;

 private:
  mutable std::unordered_map<std::string, std::string> to_;
};

// Takes out the nodes that are marked.
void remove_nodes(graph::Graph& graph, const std::vector<bool>& removed);

bool is(const graph::Node& node, std::string_view op_type);  // of ONNX's own domain
std::int64_t integer(const graph::Node& node, std::string_view name, std::int64_t otherwise);
double real(const graph::Node& node, std::string_view name, double otherwise);
std::string_view text(const graph::Node& node, std::string_view name, std::string_view otherwise);
std::optional<std::vector<std::int64_t>> integers(const graph::Node& node, std::string_view name);
// Input i; empty if it is left out.
const std::string& input(const graph::Node& node, std::size_t i);
void set_attribute(graph::Node& node, std::string_view name, graph::Attribute::Value value,
                   graph::AttributeKind kind);
void remove_attribute(graph::Node& node, std::string_view name);

graph::Node identity(std::string from, std::string to);

graph::Tensor tensor_of(std::string name, std::vector<std::int64_t> dims, std::vector<float> values);
graph::Tensor tensor_of(std::string name, std::vector<std::int64_t> dims, std::vector<std::int64_t> values);
// The contents of a constant of float32, or of int64 or int32; nothing if it is of another type.
std::optional<std::vector<float>> floats(const graph::Tensor* tensor);
std::optional<std::vector<std::int64_t>> whole_numbers(const graph::Tensor* tensor);
// Of a constant that holds one number, of float32.
std::optional<float> number(const graph::Tensor* tensor);

}  // namespace anybit::passes
