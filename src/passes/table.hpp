// The passes that make a model ready for quantization, and the patterns that are told to it as one. A row
// says what one does; the table, in the order in which they run, is made from the files beside this.
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

#include "anybit/limits.hpp"
#include "anybit/result.hpp"
#include "graph/budget.hpp"
#include "graph/model.hpp"
#include "ops/memory.hpp"

namespace anybit::passes {

struct Learned;

struct PassOptions {
  std::set<std::string, std::less<>> keep;  // names of nodes that stay as they are
  // Which rules of a recipe name a node, by its name: such nodes stay, so that the rules find them.
  std::map<std::string, std::set<std::size_t>, std::less<>> rules;
  // Bytes by which a constant may be larger than the constants that it replaces.
  std::int64_t growth = std::int64_t{1} << 20;
  // Constants that a Cast makes larger stay as they are stored, unless they are small.
  bool keep_narrow = false;
  // The model is about to run, and is not saved: constants may become larger, functions of any opset are
  // inlined, nodes need no names.
  bool to_run = false;
  std::set<std::string, std::less<>> watched;  // values that somebody looks at: they stay
  // What passes before have learned of the model as it is, and where the next ones look first; null: each
  // learns for itself.
  Learned* learned = nullptr;
  Limits limits = {};
  graph::Budget* budget = nullptr;                // of all passes together; null: `prepare` makes one
  std::shared_ptr<ops::Memory> memory = nullptr;  // for constants that are computed; null: each pass's own

  bool keeps(const graph::Node& node) const {
    return !node.name.empty() && (keep.contains(node.name.str()) || rules.contains(node.name.str()));
  }

  // Whether a node may vanish into the weights of a product: not if a rule names it that does not name the
  // product, too, as the rule for a whole module does.
  bool joins(const graph::Node& node, const graph::Node& product) const {
    if (keep.contains(node.name.str()) || keep.contains(product.name.str())) return false;
    const auto its = rules.find(node.name.str()), products = rules.find(product.name.str());
    // A MatMul would become a Gemm: a rule for the type would not find it.
    if (products != rules.end() && product.op_type == "MatMul") return false;
    if (its == rules.end()) return true;
    return products != rules.end() && std::ranges::includes(products->second, its->second);
  }
};

// The model is verified, and is again afterwards. Its own inputs and outputs, metadata and training graphs
// stay as they are. The number of changes; 0 once there is nothing more to do.
using Run = Result<std::int64_t> (*)(graph::Model& model, const PassOptions& options);

class View;
struct Group;

// The group that begins with, or hangs on, this node; nothing if it is not there. What lies inside is checked
// by the caller: nobody else may use it.
using Match = std::optional<Group> (*)(const View& view, int node);

// For whom a pass is, beside quantization, which has all of them.
enum class Also : std::uint8_t {
  nobody,
  running,     // models that run, and those that code is generated from
  fusing,      // the same where steps may be fused
  generating,  // code alone
};

// A pass, or a pattern.
struct Descriptor {
  std::string_view name;
  int order;
  std::string_view summary;
  Run run = nullptr;
  bool always = false;  // others rely on it: it runs even if it is not among those that are asked for
  Match match = nullptr;
  Also also = Also::nobody;
};

bool before(const Descriptor& a, const Descriptor& b);
std::span<const Descriptor* const> table();

}  // namespace anybit::passes
