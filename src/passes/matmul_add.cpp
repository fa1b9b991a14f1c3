// Fuses MatMul of matrices and Add of a constant row into a Gemm, so that the bias is added to the integer
// accumulators, too. With more dimensions they stay two nodes; recognise() reports them as one group.
#include <algorithm>

#include "graph/constant.hpp"
#include "graph/index.hpp"
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

class MatMulAdd {
 public:
  MatMulAdd(const graph::Model& model, const PassOptions& options)
      : options_(options),
        facts_(model, options),
        constants_(constants_of(model, options)),
        opset_(model.opset().value_or(1)) {}

  std::int64_t run(Graph& graph) {
    if (opset_ < 7) return 0;          // Gemm broadcast its bias only with an attribute
    const Graph before_edits = graph;  // the index refers to names, which change
    const graph::Index index(before_edits);
    std::vector<bool> removed(graph.nodes.size());
    std::int64_t changes = 0;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      const Node& linear = graph.nodes[i];
      if (!is_matmul(linear)) continue;
      const int next = index.only_user(linear.outputs[0]);
      if (next < 0) continue;
      Node& sum = graph.nodes[static_cast<std::size_t>(next)];
      if (!is(sum, "Add") || sum.inputs.size() != 2 || options_.keeps(sum) || options_.keeps(linear) ||
          !options_.same_rules(sum, linear))
        continue;
      const std::string& bias = sum.inputs[sum.inputs[0] == linear.outputs[0] ? 1 : 0];
      if (!is_row(bias, constants_.find(linear.inputs[1])->dims[1])) continue;
      Node gemm = graph::as_operator(linear, "Gemm");
      gemm.inputs.push_back(bias);
      gemm.outputs = sum.outputs;
      sum = std::move(gemm);  // at the later node, where both inputs exist
      removed[i] = true;
      ++changes;
    }
    remove_nodes(graph, removed);
    return changes;
  }

 private:
  bool is_matmul(const Node& node) const {
    if (!is(node, "MatMul") || node.inputs.size() != 2 || node.outputs.size() != 1) return false;
    const graph::Tensor* weights = constants_.find(node.inputs[1]);
    return weights && weights->dims.size() == 2 && weights->type() == ElementType::float32 &&
           facts_.rank(node.inputs[0]) == 2;
  }

  bool is_row(const std::string& name, std::int64_t columns) const {
    const graph::Tensor* tensor = constants_.find(name);
    return tensor && tensor->type() == ElementType::float32 && tensor->count() == columns &&
           (tensor->dims.size() == 1 || (tensor->dims.size() == 2 && tensor->dims[1] == columns));
  }

  const PassOptions& options_;
  const Facts facts_;
  const graph::Constants constants_;
  std::int64_t opset_;
};

Result<std::int64_t> run(graph::Model& model, const PassOptions& options) {
  if (!has_any(model, "MatMul")) return 0;
  MatMulAdd pass(model, options);
  std::int64_t changes = 0;
  each_graph_of(model, [&](Graph& graph) { changes += pass.run(graph); });
  return changes;
}

}  // namespace

std::span<const Descriptor> matmul_add_descriptors() {
  static const Descriptor all[] = {{.name = "matmul_add",
                                    .order = 90,
                                    .summary = "fuses MatMul and Add of a constant row into Gemm",
                                    .run = run}};
  return all;
}

}  // namespace anybit::passes
