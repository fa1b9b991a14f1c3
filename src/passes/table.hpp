// The passes that prepare a model for quantization, and the patterns of subgraphs that it treats as one
// operator. One row (Descriptor) each; the build collects the rows from the files of this folder, and they
// run in their order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "anybit/limits.hpp"
#include "anybit/result.hpp"
#include "graph/budget.hpp"
#include "graph/model.hpp"
#include "ops/memory.hpp"

namespace anybit::passes {

struct Learned;

struct PassOptions {
  std::set<std::string, std::less<>> keep;  // names of nodes that are not changed
  // Names of nodes that a rule of a recipe names, each by itself: they are not changed, so that the rule
  // finds them.
  std::set<std::string, std::less<>> named;
  // Rules that name a node or a module that it comes from, by node name.
  std::map<std::string, std::set<std::size_t>, std::less<>> rules;
  // A folded constant may be larger than the constants it replaces by this many bytes.
  std::int64_t growth = std::int64_t{1} << 20;
  // Keep constants in their narrow type if a Cast would enlarge them, unless they are small.
  bool keep_narrow = false;
  // The model is about to run and is not saved: constants may grow, functions of any opset are inlined, nodes
  // need no names.
  bool to_run = false;
  std::set<std::string, std::less<>> watched;  // values that must stay, because a caller reads them
  // Analyses by earlier passes of the current model; null: each pass analyses the model itself.
  Learned* learned = nullptr;
  Limits limits = {};
  graph::Budget* budget = nullptr;                // shared by all passes; null: `prepare` creates one
  std::shared_ptr<ops::Memory> memory = nullptr;  // for computed constants; null: one per pass
  std::vector<std::string>* remarks = nullptr;    // gets what a pass that was asked for left as it is

  bool keeps(const graph::Node& node) const {
    return !node.name.empty() && (keep.contains(node.name.str()) || named.contains(node.name.str()));
  }

  // Whether the same rules name both nodes, so that they apply to the node that replaces the two.
  bool same_rules(const graph::Node& a, const graph::Node& b) const {
    const auto one = rules.find(a.name.str()), other = rules.find(b.name.str());
    if (one == rules.end() || other == rules.end()) return one == other;
    return one->second == other->second;
  }

  // Whether a node may be folded into the weights of a linear operator: not if a rule names the node but not
  // the linear operator. A rule for an entire module names both.
  bool joins(const graph::Node& node, const graph::Node& linear) const {
    if (keep.contains(node.name.str()) || keep.contains(linear.name.str())) return false;
    const auto its = rules.find(node.name.str()), linears = rules.find(linear.name.str());
    // The MatMul would become a Gemm, and a rule for its type would not match any more.
    if (linears != rules.end() && linear.op_type == "MatMul") return false;
    if (its == rules.end()) return true;
    return linears != rules.end() && std::ranges::includes(linears->second, its->second);
  }
};

// The model must be verified, and is verified afterwards. Its inputs, outputs, metadata and training graphs
// do not change. Returns the number of changes; 0 once there is nothing left to do.
using Run = Result<std::int64_t> (*)(graph::Model& model, const PassOptions& options);

class View;
struct Group;

// The group that starts at, or is anchored to, this node; nullopt if the pattern does not match. The caller
// checks that inner values are not used elsewhere.
using Match = std::optional<Group> (*)(const View& view, int node);

// Where a pass runs besides quantization, which runs all of them.
enum class Also : std::uint8_t {
  nobody,
  running,     // before running a model, or generating code from it
  fusing,      // the same, if fusion is enabled
  generating,  // code generation only
};

// A pass, or a pattern.
struct Descriptor {
  std::string_view name;
  int order;
  std::string_view summary;
  Run run = nullptr;
  bool always = false;  // others rely on it: it runs even if not selected
  Match match = nullptr;
  Also also = Also::nobody;
  bool on_request = false;  // runs only if selected by name
};

bool before(const Descriptor& a, const Descriptor& b);
std::span<const Descriptor* const> table();

}  // namespace anybit::passes
