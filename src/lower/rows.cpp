#include "lower/rows.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/try.hpp"
#include "graph/constant.hpp"
#include "graph/names.hpp"
#include "graph/quantization.hpp"
#include "ops/infer.hpp"

namespace anybit::lower {
namespace {

using graph::ElementType;
using graph::Graph;
using graph::Node;
using graph::Tensor;

struct Known {
  std::unordered_map<const Node*, const ops::NodeFacts*> nodes;
  std::unordered_set<std::string> inputs;  // graph inputs: a caller may override their default values
};

// A one-dimensional bias of a MatMul, and the Add that adds it.
struct Row {
  int adds = -1;  // the Add; -1: none
  std::size_t input = 0;
  const Tensor* values = nullptr;  // if it is constant
};

class Finder {
 public:
  Finder(const Graph& graph, const Known& known) : graph_(graph), index_(graph), known_(known) {}

  std::vector<Row> rows() const {
    std::vector<Row> found;
    for (const Node& node : graph_.nodes) {
      if (node.op_type.str() != "MatMul" || !takes_int8(node) || !has_many_axes(node)) continue;
      const Row row = behind(node.outputs[0]);
      if (row.adds >= 0) found.push_back(row);
    }
    return found;
  }

 private:
  bool takes_int8(const Node& node) const {
    const int made = index_.producer(node.inputs[0]);
    if (made < 0) return false;
    const Node& producer = graph_.nodes[static_cast<std::size_t>(made)];
    const ops::Value* quantized = input_of(producer, 0);
    return graph::dequantizes(producer) && quantized && quantized->type == ElementType::int8;
  }

  bool has_many_axes(const Node& node) const {
    const auto found = known_.nodes.find(&node);
    if (found == known_.nodes.end() || found->second->outputs.empty()) return false;
    const ops::Value& result = found->second->outputs[0];
    return result.shape && result.shape->size() > 2;
  }

  Row behind(const std::string& linear) const {
    const int user = index_.only_user(linear);
    if (user < 0) return {};
    const Node& node = graph_.nodes[static_cast<std::size_t>(user)];
    if (node.op_type.str() != "Add") return {};
    const std::size_t other = node.inputs[0] == linear ? 1 : 0;
    const ops::Value* value = input_of(node, other);
    if (!value || !value->has_rank(1)) return {};
    const bool constant = value->constant && known_.inputs.count(node.inputs[other]) == 0;
    return {user, other, constant ? value->constant : nullptr};
  }

  const ops::Value* input_of(const Node& node, std::size_t input) const {
    const auto found = known_.nodes.find(&node);
    return found != known_.nodes.end() && input < found->second->inputs.size() ? found->second->inputs[input]
                                                                               : nullptr;
  }

  const Graph& graph_;
  const graph::Index index_;
  const Known& known_;
};

// Reshapes biases to three axes: constants in place, others by an Unsqueeze.
class Widener {
 public:
  Widener(Graph& graph, graph::Names& names) : graph_(graph), names_(names) {}

  void widen(const Row& row) {
    std::string& input = graph_.nodes[static_cast<std::size_t>(row.adds)].inputs[row.input];
    std::string& name = named_[input];
    if (name.empty()) {
      name = names_.fresh(input + "_row");
      if (row.values) {
        Tensor& tensor = hold(*row.values, name);
        tensor.dims.insert(tensor.dims.begin(), 2, 1);
      } else {
        before_[row.adds] = unsqueeze(input, name);
      }
    }
    input = name;
  }

  void finish() {
    std::vector<Node> nodes;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const auto found = before_.find(static_cast<int>(i));
      if (found != before_.end()) nodes.push_back(std::move(found->second));
      nodes.push_back(std::move(graph_.nodes[i]));
    }
    graph_.nodes = std::move(nodes);
    std::ranges::move(made_, std::back_inserter(graph_.initializers));
  }

 private:
  Tensor& hold(Tensor tensor, const std::string& name) {
    tensor.name = graph::Text(name);
    return made_.emplace_back(std::move(tensor));
  }

  Node unsqueeze(const std::string& row, const std::string& result) {
    const std::string axes = names_.fresh(row + "_axes");
    hold(graph::make_tensor({}, {2}, std::vector<std::int64_t>{0, 1}), axes);
    Node node = graph::make_node("Unsqueeze", {row, axes}, {result});
    node.name = graph::Text(names_.fresh(row + "_Unsqueeze"));
    return node;
  }

  Graph& graph_;
  graph::Names& names_;
  std::vector<Tensor> made_;
  std::map<int, Node> before_;                // by the node that they precede
  std::map<std::string, std::string> named_;  // new names of the biases
};

// Nodes and constants keep their addresses until all subgraphs are done.
std::int64_t widen(Graph& graph, const Known& known, graph::Names& names) {
  std::vector<Row> rows = Finder(graph, known).rows();
  std::ranges::sort(rows, {}, &Row::adds);  // a new node precedes its first consumer
  auto count = std::ssize(rows);
  for (Node& node : graph.nodes)
    graph::each_graph(node, [&](Graph& inner) { count += widen(inner, known, names); });
  Widener widener(graph, names);
  for (const Row& row : rows) widener.widen(row);
  widener.finish();
  return count;
}

}  // namespace

Result<std::int64_t> prevent_gemm_fusion(graph::Model& model, const Limits& limits) {
  constexpr std::int64_t kStrict = 21;
  if (model.opset().value_or(1) < kStrict) return 0;
  const ops::Inference inference = TRY(ops::infer(model, {.input_shapes = {}, .dims = {}, .limits = limits}));
  Known known;
  for (const ops::NodeFacts& one : inference.nodes) known.nodes.emplace(one.node, &one);
  for (const graph::ValueInfo& one : model.graph->inputs) known.inputs.insert(one.name.str());
  graph::Names names(*model.graph);
  return widen(*model.graph, known, names);
}

}  // namespace anybit::lower
