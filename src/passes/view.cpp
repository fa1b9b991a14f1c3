#include "passes/view.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "graph/constant.hpp"
#include "graph/index.hpp"
#include "graph/node.hpp"

namespace anybit::passes {

using graph::Node;

const std::string& View::in(int node, std::size_t i) const { return input(this->node(node), i); }

const std::string& View::out(int node) const {
  static const std::string none;
  return this->node(node).outputs.empty() ? none : this->node(node).outputs[0];
}

bool View::is(int node, std::string_view op_type) const {
  return node >= 0 && graph::is(this->node(node), op_type);
}

bool View::is_any(int node, std::initializer_list<std::string_view> op_types) const {
  return std::ranges::any_of(op_types, [&](std::string_view one) { return is(node, one); });
}

const graph::Tensor* View::constant(std::string_view name) const {
  const graph::Tensor* own = index_.constant(name);
  return own || index_.exists(name) || !around_ ? own : around_->find(name);
}

int View::maker(std::string_view name, std::string_view op_type) const {
  const int made_by = index_.producer(name);
  return is(made_by, op_type) ? made_by : -1;
}

std::optional<double> View::number(std::string_view name) const {
  const auto found = graph::number(constant(name));
  return found ? std::optional<double>(*found) : std::nullopt;
}

bool View::is_number(std::string_view name, double value) const {
  const auto found = number(name);
  return found && std::abs(*found - value) <= 1e-4 * std::abs(value);
}

const std::string& View::beside_constant(int node) const {
  static const std::string none;
  const Node& pair = this->node(node);
  if (pair.inputs.size() != 2) return none;
  const bool first = is_constant(pair.inputs[0]), second = is_constant(pair.inputs[1]);
  return first == second ? none : pair.inputs[first ? 1 : 0];
}

int View::next(int node) const { return index_.only_user(out(node)); }

std::optional<Group> View::group(std::string_view kind, std::vector<int> nodes, int last) const {
  std::ranges::sort(nodes);
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  if (out(last).empty()) return std::nullopt;
  const auto inside = [&](int node) { return std::ranges::binary_search(nodes, node); };
  Group group{std::string(kind), nodes, {}, out(last)};
  for (const int i : nodes) {
    for (const std::string& name : node(i).outputs) {
      if (name.empty() || name == group.output) continue;
      for (const graph::Index::Use& use : index_.uses(name)) {
        if (use.node < 0 || use.input < 0 || !inside(use.node)) return std::nullopt;
      }
    }
    for (const std::string& name : node(i).inputs) {
      const int made_by = index_.producer(name);
      if (name.empty() || is_constant(name) || (made_by >= 0 && inside(made_by))) continue;
      if (std::ranges::find(group.inputs, name) == group.inputs.end()) group.inputs.push_back(name);
    }
  }
  return group;
}

std::vector<Group> recognise(const graph::Graph& graph, const graph::Constants* around) {
  const View view(graph, around);
  std::vector<std::vector<Group>> by_pattern(table().size());
  for (int i = 0; i < static_cast<int>(graph.nodes.size()); ++i) {
    for (std::size_t k = 0; k < table().size(); ++k) {
      const Match match = table()[k]->match;
      if (auto group = match ? match(view, i) : std::nullopt) by_pattern[k].push_back(*std::move(group));
    }
  }
  std::vector<Group> found;
  for (std::vector<Group>& groups : by_pattern) std::ranges::move(groups, std::back_inserter(found));
  // Larger groups first; among equals in the order of the patterns.
  std::ranges::stable_sort(found,
                           [](const Group& a, const Group& b) { return a.nodes.size() > b.nodes.size(); });
  std::set<int> taken;
  std::vector<Group> groups;
  for (Group& group : found) {
    if (std::ranges::any_of(group.nodes, [&](int node) { return taken.count(node) != 0; })) continue;
    taken.insert(group.nodes.begin(), group.nodes.end());
    groups.push_back(std::move(group));
  }
  std::ranges::sort(groups, {}, [](const Group& group) { return group.nodes.back(); });
  return groups;
}

}  // namespace anybit::passes
