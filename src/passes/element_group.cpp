// Recognises elementwise functions by their values: evaluates the consumers of a value at sample points and
// compares the results with the function.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>

#include "graph/constant.hpp"
#include "graph/index.hpp"
#include "graph/node.hpp"
#include "passes/view.hpp"

namespace anybit::passes {
namespace {

using graph::Node;

constexpr std::array kPoints = {-9.0, -4.5, -3.0, -2.4, -1.0, -0.6, -0.05, 0.0,
                                0.03, 0.5,  1.0,  1.7,  2.9,  3.2,  6.5,   8.0};
constexpr std::size_t kLargest = 16;  // nodes per group
using Points = std::array<double, kPoints.size()>;

template <class F>
Points each(const Points& x, F f) {
  Points y;
  std::ranges::transform(x, y.begin(), f);
  return y;
}
template <class F>
Points each(const Points& a, const Points& b, F f) {
  Points y;
  std::ranges::transform(a, b, y.begin(), f);
  return y;
}

std::optional<Points> unary(const std::string& op, const Node& node, const Points& x) {
  if (op == "Sigmoid") return each(x, [](double v) { return 1 / (1 + std::exp(-v)); });
  if (op == "Tanh") return each(x, [](double v) { return std::tanh(v); });
  if (op == "Erf") return each(x, [](double v) { return std::erf(v); });
  if (op == "Exp") return each(x, [](double v) { return std::exp(v); });
  if (op == "Log") return each(x, [](double v) { return std::log(v); });
  if (op == "Sqrt") return each(x, [](double v) { return std::sqrt(v); });
  if (op == "Neg") return each(x, [](double v) { return -v; });
  if (op == "Abs") return each(x, [](double v) { return std::abs(v); });
  if (op == "Relu") return each(x, [](double v) { return std::max(v, 0.0); });
  if (op == "Reciprocal") return each(x, [](double v) { return 1 / v; });
  if (op == "Softplus") return each(x, [](double v) { return std::log1p(std::exp(v)); });
  if (op == "Identity") return x;
  if (op == "HardSigmoid") {
    const double alpha = real(node, "alpha", 0.2), beta = real(node, "beta", 0.5);
    return each(x, [&](double v) { return std::clamp(alpha * v + beta, 0.0, 1.0); });
  }
  return std::nullopt;
}

std::optional<Points> binary(const std::string& op, const Points& a, const Points& b) {
  if (op == "Add" || op == "Sum") return each(a, b, [](double v, double w) { return v + w; });
  if (op == "Sub") return each(a, b, [](double v, double w) { return v - w; });
  if (op == "Mul") return each(a, b, [](double v, double w) { return v * w; });
  if (op == "Div") return each(a, b, [](double v, double w) { return v / w; });
  if (op == "Pow") return each(a, b, [](double v, double w) { return std::pow(v, w); });
  if (op == "Min") return each(a, b, [](double v, double w) { return std::min(v, w); });
  if (op == "Max") return each(a, b, [](double v, double w) { return std::max(v, w); });
  return std::nullopt;
}

// Results at the sample points of values that depend on one value only.
class Values {
 public:
  Values(const View& view, const std::string& from) : view_(view) { known_[from] = kPoints; }

  // The output of the node at the sample points; nullopt if it depends on anything else.
  std::optional<Points> add(const Node& node) {
    if (!graph::canonical_domain(node.domain.str()).empty() || node.outputs.size() != 1) return std::nullopt;
    const std::string& op = node.op_type.str();
    std::vector<Points> inputs;
    for (const std::string& name : node.inputs) {
      const auto points = at(name);
      if (!points) return std::nullopt;
      inputs.push_back(*points);
    }
    std::optional<Points> result;
    if (op == "Clip") {
      result = clip(node, inputs);
    } else if (inputs.size() == 1) {
      result = unary(op, node, inputs[0]);
    } else if (inputs.size() == 2) {
      result = binary(op, inputs[0], inputs[1]);
    }
    if (result) known_[node.outputs[0]] = *result;
    return result;
  }

 private:
  std::optional<Points> at(const std::string& name) const {
    if (const auto found = known_.find(name); found != known_.end()) return found->second;
    const auto number = view_.number(name);
    if (!number) return std::nullopt;
    Points all;
    all.fill(*number);
    return all;
  }

  static std::optional<Points> clip(const Node& node, const std::vector<Points>& inputs) {
    if (inputs.empty() || inputs.size() == 2) return std::nullopt;
    const double low = inputs.size() > 2 ? inputs[1][0] : real(node, "min", -INFINITY);
    const double high = inputs.size() > 2 ? inputs[2][0] : real(node, "max", INFINITY);
    return each(inputs[0], [&](double v) { return std::min(std::max(v, low), high); });
  }

  const View& view_;
  std::map<std::string, Points> known_;
};

bool computes(const Points& y, Function function) {
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double expected = function(kPoints[i]);
    if (!(std::abs(y[i] - expected) <= 1e-4 * (1 + std::abs(expected)))) return false;
  }
  return true;
}

// The predecessors of the last node, among those seen.
std::optional<Group> needed_for(const View& view, std::string_view kind, std::span<const int> seen,
                                int last) {
  std::vector<int> needed = {last};
  for (std::size_t k = 0; k < needed.size(); ++k) {
    for (const std::string& name : view.node(needed[k]).inputs) {
      const int made_by = view.index().producer(name);
      const bool is_seen = std::ranges::find(seen, made_by) != seen.end();
      if (is_seen && std::ranges::find(needed, made_by) == needed.end()) needed.push_back(made_by);
    }
  }
  return view.group(kind, needed, last);
}

// Nodes that depend on one value only, in order, with their results at the sample points.
struct Chain {
  std::vector<int> nodes;
  std::vector<Points> points;
};

Chain chain_from(const View& view, const std::string& from) {
  Chain chain;
  Values values(view, from);
  std::set<int> todo;
  const auto add_users = [&](const std::string& name) {
    for (const graph::Index::Use& use : view.index().uses(name)) {
      if (use.node >= 0 && use.input >= 0) todo.insert(use.node);
    }
  };
  add_users(from);
  while (!todo.empty() && chain.nodes.size() < kLargest) {
    // In graph order, so that its inputs have been evaluated if possible.
    const int i = *todo.begin();
    todo.erase(todo.begin());
    const auto points = values.add(view.node(i));
    if (!points) continue;
    chain.nodes.push_back(i);
    chain.points.push_back(*points);
    add_users(view.out(i));
  }
  return chain;
}

}  // namespace

struct ElementChains {
  int node;
  std::vector<Chain> chains;
};

namespace {

const ElementChains& chains_at(const View& view, int node) {
  if (view.chains && view.chains->node == node) return *view.chains;
  auto made = std::make_shared<ElementChains>(ElementChains{node, {}});
  for (const std::string& from : view.node(node).inputs) {
    // Once per value: at its first consumer.
    if (from.empty() || view.is_constant(from) || view.index().uses(from)[0].node != node) continue;
    made->chains.push_back(chain_from(view, from));
  }
  view.chains = std::move(made);
  return *view.chains;
}

}  // namespace

std::optional<Group> element_group(const View& view, int node, std::string_view kind,
                                   std::initializer_list<Function> functions) {
  std::optional<Group> best;
  for (const Chain& chain : chains_at(view, node).chains) {
    for (std::size_t k = 1; k < chain.nodes.size(); ++k) {
      if (std::ranges::none_of(functions, [&](Function one) { return computes(chain.points[k], one); }))
        continue;
      auto group = needed_for(view, kind, std::span(chain.nodes).first(k + 1), chain.nodes[k]);
      if (group && group->inputs.size() == 1 && group->nodes.size() > (best ? best->nodes.size() : 1))
        best = group;
    }
  }
  return best;
}

}  // namespace anybit::passes
