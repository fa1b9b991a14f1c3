// Inferred types and shapes of a model's values, by name.
#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "ops/infer.hpp"
#include "passes/table.hpp"

namespace anybit::passes {

// A snapshot: it is stale for values that a pass has changed since.
class Facts {
 public:
  explicit Facts(const graph::Model& model, const Limits& limits = {});
  // Reuses the facts in `options.learned`, if present.
  Facts(const graph::Model& model, const PassOptions& options);

  // Unknown for a value that the model does not have.
  const ops::Value& of(std::string_view name) const;
  // nullopt: unknown.
  std::optional<std::size_t> rank(std::string_view name) const;
  // Whether the shapes are certainly equal, whatever the model gets as inputs.
  bool same_shape(std::string_view a, std::string_view b) const;
  // Whether the node is invalid. Passes leave such nodes in place, so that running the model reports the
  // error.
  bool fails(const graph::Node& node) const;
  // Whether a node of the graph, or of a subgraph in it, is invalid.
  bool any_fails(const graph::Graph& graph) const;

 private:
  struct Found {
    std::unordered_map<std::string, ops::Value> values;
    std::unordered_set<std::string> failing;  // one output of each invalid node
  };
  std::shared_ptr<const Found> found_;
};

}  // namespace anybit::passes
