#include "lower/qoperator.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "graph/quantization.hpp"
#include "graph/rewrite.hpp"
#include "ops/table.hpp"

namespace anybit::lower {
namespace {

using graph::Graph;
using graph::Node;
using graph::Tensor;

// A quantized value: the input of a DequantizeLinear or the output of a QuantizeLinear.
struct Quantized {
  std::string value, scale, zero_point;
  graph::QdqView::Parameters parameters;
  int node = -1;  // the QuantizeLinear

  graph::ElementType type() const { return parameters.type; }
  bool has_8_bits() const { return graph::integer_range(type()).bits == 8; }
  // Returns true if the lowest quantized value stands for zero.
  bool starts_at_zero() const {
    const Tensor* zero_point = parameters.zero_point;
    return zero_point && zero_point->count() == 1 &&
           graph::integer_at(*zero_point, 0) == graph::integer_range(type()).low;
  }
};

bool same(const Tensor* a, const Tensor* b) {
  return a && b && a->type() == b->type() && a->dims == b->dims &&
         std::ranges::equal(a->data.span(), b->data.span());
}

bool same_parameters(const Quantized& a, const Quantized& b) {
  return same(a.parameters.scale, b.parameters.scale) &&
         same(a.parameters.zero_point, b.parameters.zero_point);
}

// ONNX allows linear operators to mix signed and unsigned integers. ONNX Runtime requires one type for data
// and result, and supports int8 data with int8 weights only.
bool has_kernel(const Quantized& x, const Quantized& w, const Quantized& y) {
  return x.has_8_bits() && w.has_8_bits() && y.has_8_bits() && x.type() == y.type() &&
         (x.type() == graph::ElementType::uint8 || w.type() == graph::ElementType::int8);
}

class Rewriter {
 public:
  // Requires a view of the graph in its current state, which must stay unchanged.
  Rewriter(Graph& graph, const graph::QdqView& view, std::int64_t opset)
      : graph_(graph), view_(view), opset_(opset), removed_(graph.nodes.size()) {}

  std::int64_t run() {
    for (Node& node : graph_.nodes) {
      if (auto made = integer_form(node)) {
        node = *std::move(made);
        ++count_;
      }
    }
    graph::remove_nodes(graph_, removed_);
    return count_;
  }

 private:
  const Node& node(int i) const { return view_.graph().nodes[static_cast<std::size_t>(i)]; }

  // Integer operators require a zero point, and have no blocks.
  std::optional<Quantized> read(const Node& node, const std::string& value) const {
    Quantized found{value, graph::input(node, graph::QdqInputs::scale),
                    graph::input(node, graph::QdqInputs::zero_point), view_.parameters(node)};
    const bool fits = found.parameters.has_zero_point && found.parameters.block_size == 0;
    return fits ? std::optional(std::move(found)) : std::nullopt;
  }

  std::optional<Quantized> behind(const std::string& value) const {
    const Node* node = view_.dequantizer(value);
    return node ? read(*node, node->inputs[0]) : std::nullopt;
  }

  // The QuantizeLinear that consumes a value, possibly after a Relu that the range of the integers implies.
  std::optional<Quantized> before(const std::string& value, int& relu) const {
    const int user = view_.index().only_user(value);
    if (user >= 0 && graph::is(node(user), "Relu")) relu = user;
    const int quantizer = view_.only_quantizer(relu < 0 ? value : node(relu).outputs[0]);
    auto found = quantizer < 0 ? std::nullopt : read(node(quantizer), node(quantizer).outputs[0]);
    if (!found || (relu >= 0 && !found->starts_at_zero())) return std::nullopt;
    found->node = quantizer;
    return found;
  }

  std::optional<Node> integer_form(const Node& one) {
    const std::string& op = one.op_type.str();
    if (!graph::canonical_domain(one.domain.str()).empty() || one.outputs.empty()) return std::nullopt;
    if (op == "Conv" || op == "MatMul") return linear_operator(one, op == "Conv");
    const ops::Descriptor* descriptor = ops::find("", op);
    if (!descriptor || !descriptor->traits.passes_quantized(one, opset_) || one.outputs.size() != 1)
      return std::nullopt;
    return moved(one, descriptor->traits);
  }

  std::optional<Node> linear_operator(const Node& one, bool conv) {
    const auto x = behind(one.inputs[0]), w = behind(one.inputs[1]);
    int relu = -1;
    const auto y = x && w ? before(one.outputs[0], relu) : std::nullopt;
    if (!y || !has_kernel(*x, *w, *y)) return std::nullopt;
    Node made = graph::as_operator(one, conv ? "QLinearConv" : "QLinearMatMul");
    made.inputs = {x->value, x->scale,      x->zero_point, w->value,
                   w->scale, w->zero_point, y->scale,      y->zero_point};
    if (conv && one.inputs.size() > 2 && !one.inputs[2].empty()) {
      const auto bias = behind(one.inputs[2]);
      if (!bias) return std::nullopt;
      made.inputs.push_back(bias->value);
    }
    take_output(made, *y, relu);
    return made;
  }

  std::optional<Node> moved(const Node& one, const ops::Traits& traits) {
    int relu = -1;
    const auto y = before(one.outputs[0], relu);
    if (!y || relu >= 0 || !y->has_8_bits()) return std::nullopt;
    Node made = one;
    for (std::size_t i = 0; i < one.inputs.size(); ++i) {
      if (!traits.is_data(static_cast<int>(i)) || one.inputs[i].empty()) continue;
      const auto x = behind(one.inputs[i]);
      if (!x || !same_parameters(*x, *y)) return std::nullopt;
      made.inputs[i] = x->value;
    }
    if (one.op_type.str() == "Pad" && !pad_with_zero_point(made, *y)) return std::nullopt;
    take_output(made, *y, relu);
    return made;
  }

  // Pad fills with 0 by default, which is the zero point among quantized values. Returns false if the value
  // cannot be replaced: before opset 11 it is an attribute, a float.
  static bool pad_with_zero_point(Node& pad, const Quantized& y) {
    if (pad.inputs.size() < 2) return false;
    if (graph::attribute_or<std::string>(pad, "mode", "constant") != "constant") return true;
    constexpr std::size_t kValue = 2;
    if (pad.inputs.size() > kValue && !pad.inputs[kValue].empty()) return true;
    const Tensor* zero_point = y.parameters.zero_point;
    if (!zero_point || !zero_point->dims.empty()) return false;
    pad.inputs.resize(std::max(pad.inputs.size(), kValue + 1));
    pad.inputs[kValue] = y.zero_point;
    return true;
  }

  void take_output(Node& made, const Quantized& y, int relu) {
    made.outputs = {y.value};
    removed_[static_cast<std::size_t>(y.node)] = true;
    if (relu >= 0) removed_[static_cast<std::size_t>(relu)] = true;
  }

  Graph& graph_;
  const graph::QdqView& view_;
  const std::int64_t opset_;
  std::vector<bool> removed_;
  std::int64_t count_ = 0;
};

// Removes DequantizeLinear nodes without consumers.
void remove_unused(Graph& graph) {
  const graph::Index index(graph);
  std::vector<bool> unused;
  for (const Node& node : graph.nodes)
    unused.push_back(graph::dequantizes(node) && index.uses(node.outputs[0]).empty());
  graph::remove_nodes(graph, unused);
}

std::int64_t rewrite(Graph& graph, std::int64_t opset, const graph::QdqView* around) {
  std::int64_t count = 0;
  const Graph before = graph;  // the view refers to names, which change
  const graph::QdqView view(before, around);
  for (Node& node : graph.nodes) {
    graph::each_graph(node, [&](Graph& inner) { count += rewrite(inner, opset, &view); });
  }
  count += Rewriter(graph, view, opset).run();
  remove_unused(graph);
  return count;
}

}  // namespace

std::int64_t to_qoperator(Graph& graph, std::int64_t opset) { return rewrite(graph, opset, nullptr); }

}  // namespace anybit::lower
