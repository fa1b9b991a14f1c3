// Folds Add, Sub, Mul and Div with a per-channel constant into weights and bias of the preceding Conv,
// ConvTranspose or Gemm: exporters write normalizations, and even biases, in this form.
#include <algorithm>

#include "graph/rewrite.hpp"
#include "passes/affine.hpp"
#include "passes/learned.hpp"
#include "passes/table.hpp"

namespace anybit::passes {
namespace {

using graph::Graph;
using graph::Node;

// One number, or one per channel: [C, 1, …] or [1, C, 1, …] for tensors of rank `rank`; [C] or [1, C] for
// matrices.
bool is_by_channel(const graph::Tensor& tensor, std::int64_t channels, std::size_t rank) {
  if (tensor.count() == 1) return tensor.dims.size() <= rank;
  const bool one_less = tensor.dims.size() + 1 == rank;
  if (!one_less && tensor.dims.size() != rank) return false;
  return tensor.dims[one_less ? 0 : 1] == channels && tensor.count() == channels;
}

std::optional<Affine> affine_of(const Node& node, const std::string& x, const graph::Constants& constants,
                                const Linear& linear, std::int64_t opset) {
  const bool adds = is(node, "Add"), subtracts = is(node, "Sub"), multiplies = is(node, "Mul"),
             divides = is(node, "Div");
  if (!(adds || subtracts || multiplies || divides) || opset < 7 || node.inputs.size() != 2)
    return std::nullopt;
  const bool first = node.inputs[0] == x;
  if (divides && !first) return std::nullopt;
  const graph::Tensor* tensor = constants.find(node.inputs[first ? 1 : 0]);
  const auto values = floats(tensor);
  if (!values || !is_by_channel(*tensor, linear.outputs, linear.dims.size())) return std::nullopt;
  Affine affine;
  for (std::size_t c = 0; c < static_cast<std::size_t>(linear.outputs); ++c) {
    const auto one = static_cast<double>((*values)[values->size() == 1 ? 0 : c]);
    if (divides && one == 0.0) return std::nullopt;
    affine.factor.push_back(multiplies ? one : divides ? 1.0 / one : subtracts && !first ? -1.0 : 1.0);
    affine.offset.push_back(adds || (subtracts && !first) ? one : subtracts ? -one : 0.0);
  }
  return affine;
}

class ScaleFolder {
 public:
  ScaleFolder(const graph::Model& model, const PassOptions& options)
      : options_(options),
        constants_(constants_of(model, options)),
        names_(model),
        opset_(model.opset().value_or(1)) {}

  std::int64_t run(Graph& graph) {
    if (!has_candidates(graph)) return 0;
    const Graph before_edits = graph;  // the index refers to names, which change
    const graph::Index index(before_edits);
    std::vector<bool> removed(graph.nodes.size());
    std::int64_t changes = 0;
    for (Node& node : graph.nodes) {
      const int next = node.outputs.empty() ? -1 : index.only_user(node.outputs[0]);
      if (next < 0 || is(node, "MatMul") || options_.watched.contains(node.outputs[0])) continue;
      const Node& after = graph.nodes[static_cast<std::size_t>(next)];
      if (!options_.joins(after, node) || after.outputs.size() != 1 ||
          !may_change(node, constants_, index, options_))
        continue;
      auto linear = linear_of(node, constants_);
      const auto affine =
          linear ? affine_of(after, node.outputs[0], constants_, *linear, opset_) : std::nullopt;
      if (!affine || !linear->put_after(*affine) || !set_weights(graph, node, *linear, names_, options_))
        continue;
      node.outputs[0] = after.outputs[0];
      removed[static_cast<std::size_t>(next)] = true;
      ++changes;
    }
    remove_nodes(graph, removed);
    return changes;
  }

 private:
  // Whether the graph has a linear operator and arithmetic with a constant; most graphs do not.
  bool has_candidates(const Graph& graph) const {
    const auto is_any = [](const Node& node, std::initializer_list<std::string_view> types) {
      return std::ranges::any_of(types, [&](std::string_view type) { return is(node, type); });
    };
    const auto linear = [&](const Node& node) { return is_any(node, {"Conv", "ConvTranspose", "Gemm"}); };
    const auto arithmetic = [&](const Node& node) {
      return is_any(node, {"Add", "Sub", "Mul", "Div"}) &&
             std::ranges::any_of(node.inputs, [&](const std::string& name) { return constants_.find(name); });
    };
    return std::ranges::any_of(graph.nodes, linear) && std::ranges::any_of(graph.nodes, arithmetic);
  }

  const PassOptions& options_;
  const graph::Constants constants_;
  graph::Names names_;
  std::int64_t opset_;
};

Result<std::int64_t> run(graph::Model& model, const PassOptions& options) {
  if (!model.graph) return 0;
  ScaleFolder folder(model, options);
  std::int64_t changes = 0;
  each_graph_of(model, [&](Graph& graph) { changes += folder.run(graph); });
  return changes;
}

}  // namespace

std::span<const Descriptor> fold_scale_descriptors() {
  static const Descriptor all[] = {{.name = "fold_scale",
                                    .order = 85,
                                    .summary = "folds per-channel Add, Sub, Mul and Div into the weights",
                                    .run = run,
                                    .also = Also::fusing}};
  return all;
}

}  // namespace anybit::passes
