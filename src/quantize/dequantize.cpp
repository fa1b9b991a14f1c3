#include "quantize/dequantize.hpp"

#include <unordered_map>

#include "base/try.hpp"
#include "graph/constant.hpp"
#include "graph/names.hpp"
#include "graph/quantization.hpp"
#include "graph/rewrite.hpp"
#include "lower/parameters.hpp"
#include "ops/array.hpp"
#include "ops/convert.hpp"
#include "ops/node_attributes.hpp"
#include "ops/quantized/fix_neuron.hpp"
#include "ops/quantized/packed_tensor.hpp"
#include "ops/raise.hpp"
#include "quantize/implied_clamps.hpp"

namespace anybit::quantizing {
namespace {

using graph::Graph;
using graph::Node;
using graph::QdqView;
using graph::Tensor;
using ops::Array;

// The real values of a constant; std::nullopt if they are unknown.
Result<std::optional<Tensor>> decoded(const Node& node, const QdqView& view, ops::Memory& memory) {
  const std::optional<Tensor> none;
  const Tensor* stored = view.stored(node.outputs[0]);
  const QdqView::Parameters read = view.parameters(node);
  if (!stored || !read.known() || !read.fits(stored->dims)) return none;
  const Array code = TRY(Array::from(*stored, memory)), scale = TRY(Array::from(*read.scale, memory));
  const float* small_floats = ops::small_float_values(code.type());
  const auto axis = graph::axis_in(read.axis, std::ssize(stored->dims));
  const lower::Places places =
      read.per_tensor() ? lower::Places() : lower::Places(stored->dims, *axis, read.block_size);
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(code.count()));
  for (std::int64_t i = 0; i < code.count(); ++i) {
    const std::int64_t at = places.of(i);
    if (small_floats) {
      values.push_back(small_floats[code.data<std::uint8_t>()[i]] * scale.data<float>()[at]);
      continue;
    }
    const auto value = graph::integer_at(*stored, i),
               offset = read.zero_point ? graph::integer_at(*read.zero_point, at) : std::optional(0);
    if (!value || !offset) return none;
    values.push_back(static_cast<float>(std::int64_t{*value} - *offset) * scale.data<float>()[at]);
  }
  return std::optional(graph::make_tensor(node.outputs[0], stored->dims, std::move(values)));
}

// The real values of a packed constant; std::nullopt if it is not constant.
Result<std::optional<Tensor>> unpacked(const Node& node, const QdqView& view, ops::Memory& memory) {
  std::vector<Array> arrays;
  for (const std::string& input : node.inputs) {
    const Tensor* constant = view.constant(input);
    if (!constant) return std::optional<Tensor>();
    arrays.push_back(TRY(Array::from(*constant, memory)));
  }
  std::vector<const Array*> stored;
  for (const Array& one : arrays) stored.push_back(&one);
  const ops::StoredWeight weight = TRY(ops::StoredWeight::of(ops::NodeAttributes(node), nullptr, stored));
  std::vector<float> values(static_cast<std::size_t>(weight.codec.count()));
  ThreadPool pool(1);
  weight.codec.decode_packed(weight.codes, weight.parameters, values.data(), pool);
  return std::optional(graph::make_tensor(node.outputs[0], weight.dims, std::move(values)));
}

// Replaces a Q/DQ pair that clamps.
Node clamp(Clamps::Cut cut, const Node& quantizer, const Node& dequantizer, std::int64_t opset,
           graph::Names& names, Graph& graph) {
  const bool six = cut == Clamps::Cut::outside_six;
  Node node = graph::make_node(six ? "Clip" : "Relu", {quantizer.inputs[0]}, {dequantizer.outputs[0]});
  node.name = graph::Text(names.fresh(quantizer.inputs[0] + (six ? "_Clip" : "_Relu")));
  if (!six) return node;
  constexpr std::int64_t kLimitsAreInputs = 11;
  for (const auto& [name, limit] : {std::pair("min", 0.0F), std::pair("max", 6.0F)}) {
    if (opset < kLimitsAreInputs) {
      node.attributes.push_back(graph::attribute(name, limit));
      continue;
    }
    node.inputs.push_back(names.fresh(fmt::format("{}_{}", quantizer.inputs[0], name)));
    graph.initializers.push_back(graph::make_tensor(node.inputs.back(), {}, std::vector{limit}));
  }
  return node;
}

// Removes the Q/DQ pairs of one graph.
class TakingBack {
 public:
  TakingBack(Graph& graph, const QdqView& view, std::int64_t opset, graph::Names& names)
      : graph_(graph), view_(view), opset_(opset), names_(names), memory_(ops::Memory::make()) {}

  // Returns the number of removed nodes.
  Result<std::int64_t> run() {
    const Clamps clamps(view_);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = view_.graph().nodes[i];  // as it was before its subgraphs changed
      const bool goes = TRY(is_decoded(node)) || is_rounding(node) || takes_pair(node, clamps);
      if (!goes) nodes_.push_back(std::move(graph_.nodes[i]));
      gone_ += goes ? 1 : 0;
    }
    graph_.nodes = std::move(nodes_);
    instead_.apply(graph_);
    return gone_;
  }

 private:
  // Replaces a node that decodes constants by a constant.
  Result<bool> is_decoded(const Node& node) {
    std::optional<Tensor> constant;
    if (!is_complete(node, 1)) return false;
    if (graph::is(node, "Decode", graph::kAnybit)) constant = TRY(unpacked(node, view_, *memory_));
    if (graph::dequantizes(node)) constant = TRY(decoded(node, view_, *memory_));
    if (constant) graph_.initializers.push_back(*std::move(constant));
    return constant.has_value();
  }

  // It has its required inputs. Invalid nodes are kept, to be reported elsewhere.
  static bool is_complete(const Node& node, std::size_t inputs) {
    return node.inputs.size() >= inputs && !node.outputs.empty();
  }

  bool is_rounding(const Node& node) {
    const bool rounds = graph::is(node, "QuantizeDequantize", graph::kAnybit) || ops::is_fix_neuron(node);
    if (!rounds || !is_complete(node, 1)) return false;
    if (view_.index().is_output(node.outputs[0])) {  // which keeps its name
      nodes_.push_back(graph::make_node("Identity", {node.inputs[0]}, {node.outputs[0]}));
      return true;
    }
    instead_.add(node.outputs[0], node.inputs[0]);
    return true;
  }

  // Removes the DequantizeLinear of a pair. The QuantizeLinear is removed as an unused node.
  bool takes_pair(const Node& node, const Clamps& clamps) {
    if (!graph::dequantizes(node) || !is_complete(node, 2)) return false;
    if (view_.index().is_output(node.outputs[0])) return false;
    const Node* quantizer = view_.quantizer(node.inputs[0]);
    if (!quantizer || !is_complete(*quantizer, 1)) return false;
    const Clamps::Cut cut = clamps.cut(*quantizer);
    if (cut == Clamps::Cut::nothing) {
      instead_.add(node.outputs[0], quantizer->inputs[0]);
      return true;
    }
    const auto [same, is_new] = clamped_.emplace(node.inputs[0], node.outputs[0]);
    if (is_new) nodes_.push_back(clamp(cut, *quantizer, node, opset_, names_, graph_));
    if (!is_new) instead_.add(node.outputs[0], same->second);
    return true;
  }

  Graph& graph_;
  const QdqView& view_;
  const std::int64_t opset_;
  graph::Names& names_;
  const std::shared_ptr<ops::Memory> memory_;
  std::vector<Node> nodes_;                               // nodes that stay
  std::unordered_map<std::string, std::string> clamped_;  // replacements of clamped values
  graph::Renames instead_;                                // replacements of DequantizeLinear outputs
  std::int64_t gone_ = 0;
};

Result<std::int64_t> take_back(Graph& graph, std::int64_t opset, graph::Names& names, const QdqView* around) {
  std::int64_t gone = 0;
  const Graph before = graph;  // the view refers to names, which change
  const QdqView view(before, around);
  for (Node& node : graph.nodes) {
    Result<void> done;
    graph::each_graph(node, [&](Graph& inner) {
      auto count = take_back(inner, opset, names, &view);
      if (count.ok()) {
        gone += *count;
      } else {
        done = std::move(count).error();
      }
    });
    TRY(std::move(done));
  }
  return gone + TRY(TakingBack(graph, view, opset, names).run());
}

}  // namespace

Result<std::int64_t> dequantize(Graph& graph, std::int64_t opset) {
  graph::Names names(graph);
  return take_back(graph, opset, names, nullptr);
}

}  // namespace anybit::quantizing
