// RMSNorm and LayerNorm: division by the root mean square of the values (rms_norm) or of their deviation from
// the mean (layer_norm), x / sqrt(mean(x²) + ε), with optional scale and shift.
#include <algorithm>

#include "graph/constant.hpp"
#include "graph/node.hpp"
#include "passes/view.hpp"

namespace anybit::passes {
namespace {

using graph::Node;

// x of x², as Pow(x, 2) or Mul(x, x); empty if the node is neither.
std::string squared(const View& view, int node) {
  const Node& one = view.node(node);
  if (view.is(node, "Pow") && one.inputs.size() == 2 && view.is_number(one.inputs[1], 2.0))
    return one.inputs[0];
  if (view.is(node, "Mul") && one.inputs.size() == 2 && one.inputs[0] == one.inputs[1]) return one.inputs[0];
  return {};
}

// The argument of the root, mean(x²) + ε, and its nodes.
struct MeanSquare {
  std::string x;
  std::vector<int> nodes;
};

std::optional<MeanSquare> mean_square(const View& view, const std::string& name) {
  const int add = view.maker(name, "Add");
  if (add < 0) return std::nullopt;
  const int mean = view.maker(view.beside_constant(add), "ReduceMean");
  if (mean < 0) return std::nullopt;
  const int square = view.index().producer(view.in(mean, 0));
  std::string x = square < 0 ? std::string() : squared(view, square);
  if (x.empty()) return std::nullopt;
  return MeanSquare{std::move(x), {square, mean, add}};
}

// Whether `name` is x − mean(x), for the given `x` or, if that is empty, for any x, which it then holds; adds
// the nodes.
bool is_distance(const View& view, const std::string& name, std::string& x, std::vector<int>& nodes) {
  const int sub = view.maker(name, "Sub");
  if (sub < 0 || view.node(sub).inputs.size() != 2) return false;
  const int mean = view.maker(view.in(sub, 1), "ReduceMean");
  const std::string& from = view.in(sub, 0);
  if (mean < 0 || view.in(mean, 0) != from || (!x.empty() && x != from)) return false;
  x = from;
  nodes.push_back(mean);
  nodes.push_back(sub);
  return true;
}

// The last node of x / root or x · (1 / root), and the dividend; `root` is the node that takes the root.
struct Quotient {
  int last = -1;
  std::string dividend;
};

Quotient quotient(const View& view, int root, std::vector<int>& nodes) {
  nodes.push_back(root);
  std::string scale = view.out(root);
  bool inverted = view.is(root, "Pow");
  if (!inverted) {
    const int next = view.next(root);
    const bool one_over = view.is(next, "Div") && view.is_number(view.in(next, 0), 1.0);
    if (view.is(next, "Reciprocal") || one_over) {
      inverted = true;
      nodes.push_back(next);
      scale = view.out(next);
    }
  }
  const int last = view.index().only_user(scale);
  if (last < 0 || view.node(last).inputs.size() != 2) return {};
  const Node& node = view.node(last);
  nodes.push_back(last);
  if (inverted && view.is(last, "Mul")) return {last, node.inputs[node.inputs[0] == scale ? 1 : 0]};
  if (!inverted && view.is(last, "Div") && node.inputs[1] == scale) return {last, node.inputs[0]};
  return {};
}

// Appends the Mul and Add with constants (scale and shift) and returns the last node.
int with_parameters(const View& view, int last, std::vector<int>& nodes) {
  for (const std::string_view op : {"Mul", "Add"}) {
    const int next = view.next(last);
    if (!view.is(next, op) || view.beside_constant(next).empty()) continue;
    nodes.push_back(next);
    last = next;
  }
  return last;
}

std::optional<Group> match_any(const View& view, int node, bool centred) {
  const bool root = view.is(node, "Sqrt") || (view.is(node, "Pow") && view.node(node).inputs.size() == 2 &&
                                              view.is_number(view.in(node, 1), -0.5));
  if (!root) return std::nullopt;
  auto inner = mean_square(view, view.in(node, 0));
  if (!inner) return std::nullopt;
  std::vector<int> nodes = inner->nodes;
  std::string x;
  if (is_distance(view, inner->x, x, nodes) != centred) return std::nullopt;
  const Quotient by = quotient(view, node, nodes);
  if (by.last < 0) return std::nullopt;
  // Exporters may duplicate x − mean(x).
  const bool same = by.dividend == inner->x || (centred && is_distance(view, by.dividend, x, nodes));
  if (!same) return std::nullopt;
  const int last = with_parameters(view, by.last, nodes);
  return view.group(centred ? "layer_norm" : "rms_norm", nodes, last);
}

template <bool kCentred>
std::optional<Group> match(const View& view, int node) {
  return match_any(view, node, kCentred);
}

}  // namespace

std::span<const Descriptor> recognise_layer_norm_descriptors() {
  static const Descriptor all[] = {
      {.name = "layer_norm",
       .order = 200,
       .summary = "(x − mean) / sqrt(variance + ε), scaled and shifted",
       .match = match<true>},
      {.name = "rms_norm", .order = 205, .summary = "x / sqrt(mean(x²) + ε), scaled", .match = match<false>}};
  return all;
}

}  // namespace anybit::passes
