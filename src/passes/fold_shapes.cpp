// Folds computed shapes (Shape, Gather, Concat, …) that are known before the run. The target shape of a
// Reshape may have one unknown size, which becomes -1; a size that equals the input's at the same index
// becomes 0.
#include <algorithm>

#include "graph/constant.hpp"
#include "graph/names.hpp"
#include "graph/node.hpp"
#include "graph/rewrite.hpp"
#include "passes/facts.hpp"
#include "passes/learned.hpp"
#include "passes/table.hpp"

namespace anybit::passes {
namespace {

using graph::ElementType;
using graph::Graph;
using graph::Node;
using graph::Tensor;

template <class T>
Tensor held_as(ElementType type, const std::vector<std::int64_t>& values) {
  Tensor tensor;
  tensor.element = static_cast<std::int32_t>(type);
  std::vector<T> narrow(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) narrow[i] = static_cast<T>(values[i]);
  tensor.data = Bytes::own(std::move(narrow));
  return tensor;
}

std::optional<Tensor> known(const ops::Value& value) {
  const auto contents = value.elements ? ops::numbers(*value.elements) : std::nullopt;
  const auto shape = value.shape ? ops::numbers(*value.shape) : std::nullopt;
  if (!contents || !shape) return std::nullopt;
  const ops::Dim count = ops::product(*value.shape);
  if (!count.is(std::ssize(*contents))) return std::nullopt;
  std::optional<Tensor> tensor;
  if (value.type == ElementType::int64) tensor = held_as<std::int64_t>(value.type, *contents);
  if (value.type == ElementType::int32) tensor = held_as<std::int32_t>(value.type, *contents);
  if (value.type == ElementType::boolean) tensor = held_as<std::uint8_t>(value.type, *contents);
  if (tensor) tensor->dims = *shape;
  return tensor;
}

// The target of a Reshape, with 0 and -1 for unknown sizes; not both, since -1 cannot be inferred from an
// empty tensor.
std::optional<std::vector<std::int64_t>> target_of(const Node& node, const Facts& facts) {
  const ops::Value &input = facts.of(node.inputs[0]), &shape = facts.of(node.inputs[1]);
  if (!shape.elements || integer(node, "allowzero", 0) != 0) return std::nullopt;
  std::vector<std::int64_t> target;
  int left = 0, stay = 0;  // number of -1 (inferred from the rest) and of 0 (copied from the input)
  for (std::size_t i = 0; i < shape.elements->size(); ++i) {
    const ops::Dim& one = (*shape.elements)[i];
    const bool stays = input.shape && i < input.shape->size() && ops::same(one, (*input.shape)[i]);
    if (one.known() && *one.size != 0) {
      target.push_back(*one.size);
    } else if (one.known() || stays) {
      target.push_back(0);
      ++stay;
    } else {
      target.push_back(-1);
    }
    left += target.back() == -1;
  }
  return left == 0 || (left == 1 && stay == 0) ? std::optional(target) : std::nullopt;
}

class ShapeFolder {
 public:
  explicit ShapeFolder(const graph::Model& model, const PassOptions& options)
      : options_(options), facts_(model, options), constants_(constants_of(model, options)), names_(model) {}

  std::int64_t run(Graph& graph) {
    std::set<std::string_view> given_out;
    for (const graph::ValueInfo& one : graph.outputs) given_out.insert(one.name.str());
    std::vector<bool> removed(graph.nodes.size());
    std::int64_t changes = 0;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      Node& node = graph.nodes[i];
      if (options_.keeps(node)) continue;
      const bool leaves = std::ranges::any_of(
          node.outputs, [&](const std::string& name) { return given_out.count(name) != 0; });
      removed[i] = !leaves && take_outputs(graph, node);
      changes += removed[i] || simplify_reshape(graph, node);
    }
    remove_nodes(graph, removed);
    return changes;
  }

 private:
  // Replaces the outputs by initializers, if all of them are known.
  bool take_outputs(Graph& graph, const Node& node) const {
    if (is(node, "Constant") || node.outputs.empty()) return false;
    std::vector<Tensor> tensors;
    for (const std::string& name : node.outputs) {
      auto tensor = known(facts_.of(name));
      if (!tensor) return false;
      tensor->name = graph::Text(name);
      tensors.push_back(*std::move(tensor));
    }
    std::ranges::move(tensors, std::back_inserter(graph.initializers));
    return true;
  }

  bool simplify_reshape(Graph& graph, Node& node) {
    if (!is(node, "Reshape") || node.inputs.size() != 2 || constants_.find(node.inputs[1])) return false;
    const auto target = target_of(node, facts_);
    if (!target) return false;
    std::string name = names_.fresh(node.inputs[1] + "_known");
    graph.initializers.push_back(graph::make_tensor(name, {std::ssize(*target)}, *target));
    node.inputs[1] = std::move(name);
    return true;
  }

  const PassOptions& options_;
  const Facts facts_;
  const graph::Constants constants_;
  graph::Names names_;
};

Result<std::int64_t> run(graph::Model& model, const PassOptions& options) {
  if (!model.graph) return 0;
  ShapeFolder folder(model, options);
  std::int64_t changes = 0;
  each_graph_of(model, [&](Graph& graph) { changes += folder.run(graph); });
  return changes;
}

}  // namespace

std::span<const Descriptor> fold_shapes_descriptors() {
  static const Descriptor all[] = {
      {.name = "fold_shapes",
       .order = 60,
       .summary = "replaces computed shapes that are known in advance by constants",
       .run = run,
       .also = Also::generating}};
  return all;
}

}  // namespace anybit::passes
