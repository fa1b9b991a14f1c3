#include "ops/ml/trees.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "ops/ml/classifier_scores.hpp"

namespace anybit::ops {
namespace {

bool goes_yes(const Trees& trees, const Trees::Node& node, double value) {
  if (std::isnan(value)) {
    if (node.mode == Trees::Mode::neq) return true;
    return node.missing_is_true;
  }
  switch (node.mode) {
    case Trees::Mode::leq:
      return value <= node.split;
    case Trees::Mode::lt:
      return value < node.split;
    case Trees::Mode::gte:
      return value >= node.split;
    case Trees::Mode::gt:
      return value > node.split;
    case Trees::Mode::eq:
      return value == node.split;
    case Trees::Mode::neq:
      return value != node.split;
    case Trees::Mode::member:
      return std::find(trees.members.begin() + static_cast<std::ptrdiff_t>(node.first),
                       trees.members.begin() + static_cast<std::ptrdiff_t>(node.last),
                       value) != trees.members.begin() + static_cast<std::ptrdiff_t>(node.last);
  }
  return false;
}

// Checks that the nodes form trees, so that every traversal ends: each node has one parent or is a root.
Result<void> check(Trees& trees) {
  std::vector<bool> seen(trees.nodes.size());
  std::vector<std::int64_t> open;
  std::vector<std::int64_t> roots = trees.roots;
  std::ranges::sort(roots);
  roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
  const auto nodes = static_cast<std::int64_t>(trees.nodes.size());
  const auto leaves = static_cast<std::int64_t>(trees.leaves.size());
  for (const std::int64_t root : roots) open.push_back(root);
  while (!open.empty()) {
    const std::int64_t at = open.back();
    open.pop_back();
    if (at < -leaves || at >= nodes) return wrong("a branch leads to a node that does not exist");
    if (at < 0) continue;
    const auto i = static_cast<std::size_t>(at);
    if (seen[i]) return wrong(fmt::format("two branches lead to node {}", at), "a tree");
    seen[i] = true;
    const Trees::Node& node = trees.nodes[i];
    if (node.feature < 0) return wrong(fmt::format("node {} tests feature {}", at, node.feature));
    trees.features = std::max(trees.features, node.feature + 1);
    open.push_back(node.yes);
    open.push_back(node.no);
  }
  for (const Trees::Vote& vote : trees.votes) {
    if (vote.target >= trees.targets)
      return wrong(fmt::format("a leaf votes for target {}", static_cast<std::int64_t>(vote.target)),
                   fmt::format("0 to {}", static_cast<std::int64_t>(trees.targets) - 1));
  }
  return {};
}

std::vector<double> numbers_in(const graph::Tensor& tensor) {
  std::vector<double> list;
  const auto memory = Memory::make();
  const auto array = Array::from(tensor, *memory);
  for (std::int64_t i = 0; array.ok() && i < array->count(); ++i) list.push_back(feature_at(*array, i));
  return list;
}

// Attribute name_as_tensor (doubles), or name as a tensor or a list of floats.
std::vector<double> reals(const Attributes& node, const std::string& name) {
  if (const graph::Tensor* held = node.tensor(name + "_as_tensor")) return numbers_in(*held);
  if (const graph::Tensor* held = node.tensor(name)) return numbers_in(*held);
  return node.reals(name).value_or(std::vector<double>());
}

Result<std::vector<std::int64_t>> integers(const Attributes& node, const std::string& name,
                                           std::size_t count) {
  auto list = node.integers(name).value_or(std::vector<std::int64_t>());
  if (list.size() != count)
    return wrong(fmt::format("{} has {} elements", name, list.size()), fmt::format("{}", count));
  return list;
}

}  // namespace

std::span<const Trees::Vote> Trees::fall(std::int64_t root, const Array& in, std::int64_t row_start) const {
  while (root >= 0) {
    const Node& node = nodes[static_cast<std::size_t>(root)];
    root = goes_yes(*this, node, feature_at(in, row_start + node.feature)) ? node.yes : node.no;
  }
  const Leaf& leaf = leaves[static_cast<std::size_t>(~root)];
  return std::span(votes).subspan(leaf.first, leaf.last - leaf.first);
}

Result<std::shared_ptr<const Trees>> trees_by_index(const Attributes& node) {
  auto trees = std::make_shared<Trees>();
  const auto features = node.integers("nodes_featureids").value_or(std::vector<std::int64_t>());
  const std::size_t count = features.size();
  const auto yes = TRY(integers(node, "nodes_truenodeids", count));
  const auto no = TRY(integers(node, "nodes_falsenodeids", count));
  const auto yes_leaf = TRY(integers(node, "nodes_trueleafs", count));
  const auto no_leaf = TRY(integers(node, "nodes_falseleafs", count));
  const auto splits = reals(node, "nodes_splits"), modes = reals(node, "nodes_modes");
  const auto missing = node.integers("nodes_missing_value_tracks_true").value_or(std::vector<std::int64_t>());
  if (splits.size() != count || modes.size() != count || (!missing.empty() && missing.size() != count))
    return wrong("the attributes nodes_… have different lengths");
  trees->members = reals(node, "membership_values");
  std::size_t member = 0;
  const auto child = [](std::int64_t id, std::int64_t leaf) {
    return leaf ? ~std::max<std::int64_t>(id, 0) : id;
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (yes[i] < 0 || no[i] < 0)
      return wrong(fmt::format("node {} has an invalid child {}", i, std::min(yes[i], no[i])));
    if (!(modes[i] >= 0 && modes[i] <= 6))
      return wrong(fmt::format("node {} has mode {}", i, modes[i]), "0 to 6");
    Trees::Node one{.feature = features[i],
                    .mode = static_cast<Trees::Mode>(static_cast<int>(modes[i])),
                    .missing_is_true = !missing.empty() && missing[i] != 0,
                    .split = splits[i],
                    .yes = child(yes[i], yes_leaf[i]),
                    .no = child(no[i], no_leaf[i])};
    if (one.mode == Trees::Mode::member) {
      // The sets of all member nodes are concatenated, each terminated by NaN.
      one.first = member;
      while (member < trees->members.size() && !std::isnan(trees->members[member])) ++member;
      one.last = member;
      member = std::min(member + 1, trees->members.size());
    }
    trees->nodes.push_back(one);
  }
  const auto targets = node.integers("leaf_targetids").value_or(std::vector<std::int64_t>());
  const auto weights = reals(node, "leaf_weights");
  if (targets.size() != weights.size())
    return wrong("leaf_targetids and leaf_weights have different lengths");
  for (std::size_t i = 0; i < targets.size(); ++i) {
    trees->leaves.push_back({i, i + 1});
    trees->votes.push_back({static_cast<std::size_t>(targets[i]), weights[i]});
  }
  trees->roots = node.integers("tree_roots").value_or(std::vector<std::int64_t>());
  for (const std::int64_t root : trees->roots) {
    if (root < 0) return wrong(fmt::format("a tree has root {}", root));
  }
  const std::int64_t wanted = node.integer("n_targets", 1);
  if (wanted < 1) return wrong(fmt::format("n_targets is {}", wanted), "1 or more");
  trees->targets = static_cast<std::size_t>(wanted);
  TRY(check(*trees));
  return std::shared_ptr<const Trees>(std::move(trees));
}

Result<std::shared_ptr<const Trees>> trees_by_id(const Attributes& node, std::string_view prefix,
                                                 std::size_t targets) {
  using Id = std::pair<std::int64_t, std::int64_t>;  // (tree id, node id)
  constexpr std::string_view kModes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                         "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  auto trees = std::make_shared<Trees>();
  trees->targets = targets;
  const auto tree_ids = node.integers("nodes_treeids").value_or(std::vector<std::int64_t>());
  const std::size_t count = tree_ids.size();
  const auto ids = TRY(integers(node, "nodes_nodeids", count));
  const auto features = TRY(integers(node, "nodes_featureids", count));
  const auto yes = TRY(integers(node, "nodes_truenodeids", count));
  const auto no = TRY(integers(node, "nodes_falsenodeids", count));
  const auto modes = node.texts("nodes_modes").value_or(std::span<const std::string>());
  const auto splits = reals(node, "nodes_values");
  const auto missing = node.integers("nodes_missing_value_tracks_true").value_or(std::vector<std::int64_t>());
  if (modes.size() != count || splits.size() != count || (!missing.empty() && missing.size() != count))
    return wrong("the attributes nodes_… have different lengths");
  std::map<Id, std::int64_t> places;  // node index, or ~leaf
  for (std::size_t i = 0; i < count; ++i) {
    const bool leaf = modes[i] == "LEAF";
    const auto place = static_cast<std::int64_t>(leaf ? trees->leaves.size() : trees->nodes.size());
    if (!places.emplace(Id(tree_ids[i], ids[i]), leaf ? ~place : place).second)
      return wrong(fmt::format("tree {} has two nodes {}", tree_ids[i], ids[i]));
    if (leaf) {
      trees->leaves.emplace_back();
      continue;
    }
    const auto mode = std::ranges::find(kModes, std::string_view(modes[i]));
    if (mode == std::end(kModes)) return wrong(fmt::format("a node's mode is '{}'", shown(modes[i])));
    trees->nodes.push_back({.feature = features[i],
                            .mode = static_cast<Trees::Mode>(mode - kModes),
                            .missing_is_true = !missing.empty() && missing[i] != 0,
                            .split = splits[i],
                            .yes = yes[i],
                            .no = no[i]});
  }
  // The first node of each tree is its root; child ids become indices.
  std::size_t inner = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (i == 0 || tree_ids[i] != tree_ids[i - 1]) trees->roots.push_back(places[{tree_ids[i], ids[i]}]);
    if (modes[i] == "LEAF") continue;
    Trees::Node& one = trees->nodes[inner++];
    for (std::int64_t* child : {&one.yes, &one.no}) {
      const auto found = places.find({tree_ids[i], *child});
      if (found == places.end()) return wrong(fmt::format("tree {} has no node {}", tree_ids[i], *child));
      *child = found->second;
    }
  }
  const std::string name(prefix);
  const auto targets_of = node.integers(name + "_ids").value_or(std::vector<std::int64_t>());
  const auto vote_trees = TRY(integers(node, name + "_treeids", targets_of.size()));
  const auto vote_nodes = TRY(integers(node, name + "_nodeids", targets_of.size()));
  const auto weights = reals(node, name + "_weights");
  if (weights.size() != targets_of.size())
    return wrong(fmt::format("the attributes {}_… have different lengths", prefix));
  std::vector<std::vector<Trees::Vote>> by_leaf(trees->leaves.size());
  for (std::size_t i = 0; i < targets_of.size(); ++i) {
    const auto found = places.find({vote_trees[i], vote_nodes[i]});
    if (found == places.end() || found->second >= 0)
      return wrong(
          fmt::format("node {} of tree {} has a vote, but is no leaf", vote_nodes[i], vote_trees[i]));
    by_leaf[static_cast<std::size_t>(~found->second)].push_back(
        {static_cast<std::size_t>(targets_of[i]), weights[i]});
  }
  for (std::size_t i = 0; i < by_leaf.size(); ++i) {
    trees->leaves[i] = {trees->votes.size(), trees->votes.size() + by_leaf[i].size()};
    trees->votes.insert(trees->votes.end(), by_leaf[i].begin(), by_leaf[i].end());
  }
  trees->base = reals(node, "base_values");
  TRY(check(*trees));
  return std::shared_ptr<const Trees>(std::move(trees));
}

}  // namespace anybit::ops
