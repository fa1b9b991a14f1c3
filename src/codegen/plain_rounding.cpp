#include "codegen/plain_rounding.hpp"

#include <map>
#include <optional>
#include <set>

#include "graph/index.hpp"
#include "graph/node.hpp"
#include "portable/portable.hpp"

namespace anybit::codegen {
namespace {

using graph::Function;
using graph::Graph;
using graph::Node;

constexpr std::string_view kOurs = graph::kAnybit, kPlain = "ai.anybit.plain";

bool rounds(const Function& function) {
  const auto meaning = portable::recognise_function(function);
  return meaning && meaning->op == "QuantizeDequantize";
}

class Renamer {
 public:
  explicit Renamer(graph::Model& model) : model_(model) {
    for (Function& one : model.functions) {
      if (one.domain != kOurs) continue;
      carried_.insert(one.name.str());
      if (rounds(one)) plain_.emplace(one.name.str(), one);
    }
  }

  void run() {
    rename(*model_.graph);
    for (Function& one : model_.functions) {
      for (Node& node : one.nodes) rename(node);
    }
    if (used_.empty()) return;
    for (auto& [name, function] : used_) {
      function.domain = graph::Text(std::string(kPlain));
      model_.functions.push_back(std::move(function));
    }
    graph::OpsetImport import;
    import.domain = graph::Text(std::string(kPlain));
    import.version = 1;
    model_.opsets.push_back(std::move(import));
  }

 private:
  void rename(Graph& graph) {
    for (Node& node : graph.nodes) rename(node);
  }

  void rename(Node& node) {
    graph::each_graph(node, [&](Graph& inner) { rename(inner); });
    if (node.domain != kOurs) return;
    auto function = function_of(node);
    if (!function) return;
    node.op_type = function->name;
    node.domain = graph::Text(std::string(kPlain));
    used_.emplace(node.op_type.str(), *std::move(function));
  }

  // The function that the node calls, or could call.
  std::optional<Function> function_of(const Node& node) const {
    if (const auto found = plain_.find(node.op_type.str()); found != plain_.end()) return found->second;
    if (node.op_type != "QuantizeDequantize" || carried_.count(node.op_type.str())) return std::nullopt;
    const auto use = formats::read_use(graph::attribute_or(node, "format", std::string()));
    auto made = use.ok() ? portable::quantize_dequantize(*use) : Result<Function>(use.error());
    return made.ok() ? std::optional(std::move(made).value()) : std::nullopt;
  }

  graph::Model& model_;
  std::set<std::string> carried_;
  std::map<std::string, Function> plain_, used_;  // by name
};

}  // namespace

void inline_rounding(graph::Model& model) { Renamer(model).run(); }

}  // namespace anybit::codegen
