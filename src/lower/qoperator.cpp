#include "lower/qoperator.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "graph/index.hpp"
#include "graph/node.hpp"
#include "lower/parameters.hpp"
#include "ops/table.hpp"

namespace anybit::lower {
namespace {

using graph::Graph;
using graph::Node;
using graph::Tensor;

// The codes behind a value, or before it.
struct Coded {
  std::string codes, scale, zero_point;
  int node = -1;  // the QuantizeLinear or DequantizeLinear
};

// Operators that move values and take 8-bit integers, with the opset that first lets them. Not here are those
// that only take floats (GlobalMaxPool, MaxUnpool, MaxRoiPool, Dropout), and those that add zeros and cannot
// be told otherwise, which would be code 0 (CenterCropPad, Trilu).
struct Mover {
  std::string_view op;
  std::int64_t opset;
};
constexpr Mover kMovers[] = {
    {"Compress", 9},       {"Concat", 4},
    {"DepthToSpace", 1},   {"Expand", 8},
    {"Flatten", 9},        {"Gather", 1},
    {"GatherND", 11},      {"GatherElements", 11},
    {"Identity", 1},       {"MaxPool", 12},
    {"Pad", 11},           {"ReduceMax", 12},
    {"ReduceMin", 12},     {"Reshape", 5},
    {"Resize", 10},        {"ScatterND", 11},
    {"Scatter", 9},        {"ScatterElements", 11},
    {"Slice", 1},          {"ReverseSequence", 10},
    {"SpaceToDepth", 1},   {"Split", 2},
    {"Squeeze", 1},        {"Transpose", 1},
    {"TensorScatter", 24}, {"Tile", 6},
    {"Unsqueeze", 1},
};

// The node can do its work on codes of 8 bits, in a model of this opset.
bool moves_codes(const Node& node, std::int64_t opset) {
  const std::string& op = node.op_type.str();
  const auto* mover = std::ranges::find(kMovers, op, &Mover::op);
  if (mover == std::end(kMovers) || opset < mover->opset) return false;
  // The others compute values between codes, which runtimes cut off instead of rounding.
  return op != "Resize" || graph::attribute_or<std::string>(node, "mode", "nearest") == "nearest";
}

class Rewriter {
 public:
  Rewriter(Graph& graph, std::int64_t opset) : graph_(graph), index_(graph), opset_(opset) {}

  std::int64_t run() {
    std::vector<Node> nodes = graph_.nodes;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (auto made = integer_form(nodes[i])) {
        nodes[i] = *std::move(made);
        ++count_;
      }
    }
    std::size_t at = 0;
    std::erase_if(nodes, [&](const Node&) { return removed_.count(static_cast<int>(at++)) != 0; });
    graph_.nodes = std::move(nodes);
    return count_;
  }

 private:
  const Node& node(int i) const { return graph_.nodes[static_cast<std::size_t>(i)]; }

  std::optional<Coded> behind(const std::string& value) const {
    const int producer = index_.producer(value);
    if (producer < 0 || node(producer).op_type.str() != "DequantizeLinear" ||
        node(producer).inputs.size() < 3 || node(producer).attribute("block_size"))
      return std::nullopt;
    const Node& one = node(producer);
    return Coded{one.inputs[0], one.inputs[1], one.inputs[2], producer};
  }

  // The QuantizeLinear that takes a value, maybe through a Relu that the codes' range does anyway.
  std::optional<Coded> before(const std::string& value, std::vector<int>& between) const {
    int user = index_.only_user(value);
    if (user >= 0 && node(user).op_type.str() == "Relu") {
      between.push_back(user);
      user = index_.only_user(node(user).outputs[0]);
    }
    if (user < 0 || node(user).op_type.str() != "QuantizeLinear" || node(user).inputs.size() < 3)
      return std::nullopt;
    const Node& one = node(user);
    if (!between.empty() && !starts_at_zero(one.inputs[2])) return std::nullopt;
    return Coded{one.outputs[0], one.inputs[1], one.inputs[2], user};
  }

  // The lowest code stands for zero.
  bool starts_at_zero(const std::string& zero_point) const {
    const Tensor* tensor = index_.constant(zero_point);
    if (!tensor || tensor->count() != 1) return false;
    if (tensor->type() == graph::ElementType::uint8) return tensor->data.at<std::uint8_t>(0) == 0;
    return tensor->type() == graph::ElementType::int8 && tensor->data.at<std::int8_t>(0) == -128;
  }

  bool is_8_bit(const Coded& one) const {
    const Tensor* tensor = index_.constant(one.zero_point);
    return tensor && codes_of(tensor->type()).bits == 8;
  }

  // ONNX lets products mix signed and unsigned codes; ONNX Runtime has data and result of one type, and int8
  // with int8 weights alone.
  bool has_kernel(const Coded& x, const Coded& w, const Coded& y) const {
    const auto type = [&](const Coded& one) { return index_.constant(one.zero_point)->type(); };
    return type(x) == type(y) &&
           (type(x) == graph::ElementType::uint8 || type(w) == graph::ElementType::int8);
  }

  bool same(const Coded& a, const Coded& b) const {
    const auto equal = [&](const std::string& x, const std::string& y) {
      const Tensor *left = index_.constant(x), *right = index_.constant(y);
      return left && right && left->type() == right->type() && left->dims == right->dims &&
             std::ranges::equal(left->data.span(), right->data.span());
    };
    return equal(a.scale, b.scale) && equal(a.zero_point, b.zero_point);
  }

  std::optional<Node> integer_form(const Node& one) {
    const std::string& op = one.op_type.str();
    if (!graph::canonical_domain(one.domain.str()).empty() || one.outputs.empty()) return std::nullopt;
    if (op == "Conv" || op == "MatMul") return product(one, op == "Conv");
    const ops::Descriptor* descriptor = ops::find("", op);
    if (!descriptor || descriptor->traits.role_in(one) != ops::Traits::Role::move ||
        !moves_codes(one, opset_) || one.outputs.size() != 1)
      return std::nullopt;
    return moved(one, descriptor->traits);
  }

  std::optional<Node> product(const Node& one, bool conv) {
    const auto x = behind(one.inputs[0]), w = behind(one.inputs[1]);
    std::vector<int> between;
    const auto y = x && w ? before(one.outputs[0], between) : std::nullopt;
    if (!y || !is_8_bit(*x) || !is_8_bit(*w) || !is_8_bit(*y) || !has_kernel(*x, *w, *y)) return std::nullopt;
    Node made = one;
    made.op_type = graph::Text(conv ? "QLinearConv" : "QLinearMatMul");
    made.inputs = {x->codes, x->scale,      x->zero_point, w->codes,
                   w->scale, w->zero_point, y->scale,      y->zero_point};
    if (conv && one.inputs.size() > 2 && !one.inputs[2].empty()) {
      const auto bias = behind(one.inputs[2]);
      if (!bias) return std::nullopt;
      made.inputs.push_back(bias->codes);
    }
    take_output(made, *y, between);
    return made;
  }

  std::optional<Node> moved(const Node& one, const ops::Traits& traits) {
    std::vector<int> between;
    const auto y = before(one.outputs[0], between);
    if (!y || !between.empty() || !is_8_bit(*y)) return std::nullopt;
    Node made = one;
    for (std::size_t i = 0; i < one.inputs.size(); ++i) {
      if (!traits.is_data(static_cast<int>(i)) || one.inputs[i].empty()) continue;
      const auto x = behind(one.inputs[i]);
      if (!x || !same(*x, *y)) return std::nullopt;
      made.inputs[i] = x->codes;
    }
    if (one.op_type.str() == "Pad" && !pad_with_zero_point(made, *y)) return std::nullopt;
    take_output(made, *y, between);
    return made;
  }

  // Pad fills with 0 unless it is told a value: among codes, the one that stands for zero. False: it cannot
  // be told, since before opset 11 the value is an attribute, a float.
  bool pad_with_zero_point(Node& pad, const Coded& y) const {
    if (pad.inputs.size() < 2) return false;
    if (graph::attribute_or<std::string>(pad, "mode", "constant") != "constant") return true;
    constexpr std::size_t kValue = 2;
    if (pad.inputs.size() > kValue && !pad.inputs[kValue].empty()) return true;
    const Tensor* zero_point = index_.constant(y.zero_point);
    if (!zero_point || !zero_point->dims.empty()) return false;
    pad.inputs.resize(std::max(pad.inputs.size(), kValue + 1));
    pad.inputs[kValue] = y.zero_point;
    return true;
  }

  void take_output(Node& made, const Coded& y, const std::vector<int>& between) {
    made.outputs = {y.codes};
    removed_.insert(y.node);
    removed_.insert(between.begin(), between.end());
  }

  Graph& graph_;
  const graph::Index index_;
  const std::int64_t opset_;
  std::set<int> removed_;
  std::int64_t count_ = 0;
};

// DequantizeLinear nodes whose values nobody takes any more.
void remove_unused(Graph& graph) {
  const graph::Index index(graph);
  std::vector<bool> unused;
  for (const Node& node : graph.nodes)
    unused.push_back(node.op_type.str() == "DequantizeLinear" && index.uses(node.outputs[0]).empty());
  std::size_t at = 0;
  std::erase_if(graph.nodes, [&](const Node&) { return unused[at++]; });
}

}  // namespace

std::int64_t to_qoperator(Graph& graph, std::int64_t opset) {
  std::int64_t count = 0;
  for (Node& node : graph.nodes) {
    graph::each_graph(node, [&](Graph& inner) { count += to_qoperator(inner, opset); });
  }
  count += Rewriter(graph, opset).run();
  remove_unused(graph);
  return count;
}

}  // namespace anybit::lower
