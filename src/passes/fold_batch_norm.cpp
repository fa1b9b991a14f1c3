// Folds BatchNormalization into the weights of the preceding Conv, ConvTranspose, Gemm or MatMul: w' = w·γ/σ,
// b' = (b − μ)·γ/σ + β; or into those of the following one, where that is exact (no padding). Not done if a
// rule names only the normalization, if a number would overflow, or if large weights are shared.
#include <algorithm>

#include "graph/rewrite.hpp"
#include "passes/affine.hpp"
#include "passes/facts.hpp"
#include "passes/learned.hpp"
#include "passes/table.hpp"

namespace anybit::passes {
namespace {

using graph::Graph;
using graph::Node;

bool pads_nothing(const Node& conv) {
  const std::string_view automatic = text(conv, "auto_pad", "NOTSET");
  const auto pads = integers(conv, "pads");
  return automatic == "VALID" ||
         (automatic == "NOTSET" &&
          (!pads || std::ranges::all_of(*pads, [](std::int64_t one) { return one == 0; })));
}

class BatchNormFolder {
 public:
  BatchNormFolder(const graph::Model& model, const PassOptions& options)
      : model_(model),
        options_(options),
        constants_(constants_of(model, options)),
        names_(model),
        opset_(model.opset().value_or(1)) {}

  // New initializers are not in constants_: a node that has changed waits for the next round.
  std::int64_t run(Graph& graph) {
    const Graph before_edits = graph;  // the index refers to names, which change
    const graph::Index index(before_edits);
    std::vector<bool> removed(graph.nodes.size());
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& node = graph.nodes[i];
      const auto affine = normalization(node, constants_, index, opset_);
      if (!affine) continue;
      const int before = index.producer(node.inputs[0]);
      const bool alone = before >= 0 && index.only_user(node.inputs[0]) == static_cast<int>(i) &&
                         !options_.watched.contains(node.inputs[0]);
      removed[i] = alone && fold(graph, static_cast<std::size_t>(before), i, *affine, index, true);
      if (removed[i]) continue;
      const int after = index.only_user(node.outputs[0]);
      const bool first = after >= 0 &&
                         input(graph.nodes[static_cast<std::size_t>(after)], 0) == node.outputs[0] &&
                         !options_.watched.contains(node.outputs[0]);
      removed[i] = first && fold(graph, static_cast<std::size_t>(after), i, *affine, index, false);
    }
    remove_nodes(graph, removed);
    return std::ranges::count(removed, true);
  }

 private:
  bool fold(Graph& graph, std::size_t into, std::size_t norm, const Affine& affine, const graph::Index& index,
            bool norm_is_last) {
    Node& node = graph.nodes[into];
    if (!options_.joins(graph.nodes[norm], node) || !may_change(node, constants_, index, options_))
      return false;
    auto linear = linear_of(node, constants_);
    if (!linear) return false;
    const bool convolves = linear->kind == Linear::Kind::conv || linear->kind == Linear::Kind::conv_transpose;
    // Channels are axis 1 of the normalization, but the last axis of a matrix multiplication.
    if (!convolves && facts().rank(graph.nodes[norm].inputs[0]) != 2) return false;
    if (!norm_is_last && convolves && (linear->kind != Linear::Kind::conv || !pads_nothing(node)))
      return false;
    if (!(norm_is_last ? linear->put_after(affine) : linear->put_before(affine))) return false;
    if (!set_weights(graph, node, *linear, names_, options_)) return false;
    if (norm_is_last) {
      node.outputs[0] = graph.nodes[norm].outputs[0];
    } else {
      node.inputs[0] = graph.nodes[norm].inputs[0];
    }
    return true;
  }

  // Computed on demand: few models need it. If a change of this round hides a value, the node waits for the
  // next round.
  const Facts& facts() {
    if (!facts_) facts_.emplace(model_, options_);
    return *facts_;
  }

  const graph::Model& model_;
  const PassOptions& options_;
  std::optional<Facts> facts_;
  const graph::Constants constants_;
  graph::Names names_;
  std::int64_t opset_;
};

Result<std::int64_t> run(graph::Model& model, const PassOptions& options) {
  if (!has_any(model, "BatchNormalization")) return 0;
  BatchNormFolder folder(model, options);
  std::int64_t changes = 0;
  each_graph_of(model, [&](Graph& graph) { changes += folder.run(graph); });
  return changes;
}

}  // namespace

std::span<const Descriptor> fold_batch_norm_descriptors() {
  static const Descriptor all[] = {{.name = "fold_batch_norm",
                                    .order = 80,
                                    .summary = "folds BatchNormalization into the adjacent weights",
                                    .run = run,
                                    .also = Also::fusing}};
  return all;
}

}  // namespace anybit::passes
