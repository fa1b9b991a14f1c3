// Types and shapes of a model's values by name, as far as they are known before it runs.
#pragma once

#include <memory>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "ops/infer.hpp"
#include "passes/table.hpp"

namespace anybit::passes {

// A picture of the model as it was: a pass that has changed a value does not ask about it.
class Facts {
 public:
  explicit Facts(const graph::Model& model, const Limits& limits = {});
  // Those that are learned already, if there are any.
  Facts(const graph::Model& model, const PassOptions& options);

  // Nothing is known of a value that the model does not have.
  const ops::Value& of(std::string_view name) const;
  // nothing: not known.
  std::optional<std::size_t> rank(std::string_view name) const;
  // Certainly of the same shape, whatever goes into the model.
  bool same_shape(std::string_view a, std::string_view b) const;
  // The node cannot run. Passes leave such nodes where they are, so that whoever runs the model says why.
  bool fails(const graph::Node& node) const;
  // A node of the graph cannot run, or one of a graph inside it.
  bool any_fails(const graph::Graph& graph) const;

 private:
  struct Found {
    std::unordered_map<std::string, ops::Value> values;
    std::unordered_set<std::string> failing;  // a value that each such node makes
  };
  std::shared_ptr<const Found> found_;
};

}  // namespace anybit::passes
