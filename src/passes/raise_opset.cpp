#include "passes/raise_opset.hpp"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "ops/infer.hpp"
#include "ops/raise.hpp"
#include "ops/table.hpp"

namespace anybit::passes {
namespace {

using graph::Graph;
using graph::Node;

constexpr std::int64_t kOldest = 7;  // the first opset with conversion rules

class Raiser {
 public:
  Raiser(const graph::Model& model, std::int64_t target, const Limits& limits)
      : model_(model), target_(target), limits_(limits) {
    for (const graph::Function& one : model.functions) {
      if (graph::canonical_domain(one.domain.str()).empty()) functions_.insert(one.name.str());
    }
  }

  Result<Raised> run(std::int64_t from) {
    // Without inference facts are unknown, and the rules take the general path.
    auto inference = ops::infer(model_, {.input_shapes = {}, .dims = {}, .limits = limits_});
    if (inference.ok()) learn(std::move(inference).value());
    collect_names();
    Raised result{model_, from, target_, 0};
    result.model.graph = TRY(graph(*model_.graph, from, true));
    for (graph::TrainingInfo& one : result.model.training) {
      for (auto* part : {&one.initialization, &one.algorithm}) {
        if (*part) *part = graph::GraphBox(TRY(graph(***part, from, false)));
      }
    }
    for (graph::Function& function : result.model.functions) TRY(raise_function(function));
    set_opset(result.model.opsets);
    result.changed = changed_;
    return result;
  }

 private:
  void learn(ops::Inference inference) {
    inference_ = std::move(inference);
    for (const ops::NodeFacts& one : inference_.nodes) {
      ops::Values& values = facts_[one.node];
      for (const ops::Value* value : one.inputs) values.push_back(value ? *value : ops::Value());
    }
  }

  void collect_names() {
    names_ = graph::Names(model_);
    for (const graph::Function& function : model_.functions) {
      names_.add_all(function.nodes);
      for (const std::string& name : function.inputs) names_.add(name);
    }
  }

  void set_opset(std::vector<graph::OpsetImport>& opsets) const {
    for (graph::OpsetImport& one : opsets) {
      if (graph::canonical_domain(one.domain.str()).empty()) one.version = target_;
    }
  }

  Result<void> raise_function(graph::Function& function) {
    const auto own = std::ranges::find_if(function.opsets, [](const graph::OpsetImport& one) {
      return graph::canonical_domain(one.domain.str()).empty();
    });
    if (own == function.opsets.end()) return {};
    const std::int64_t from = own->version.value_or(1);
    auto raised = nodes(function.nodes, from, false);
    if (!raised.ok())
      return std::move(raised).error().within(fmt::format("function '{}'", shown(function.name.str())));
    function.nodes = std::move(raised).value();
    set_opset(function.opsets);
    return {};
  }

  Result<Graph> graph(const Graph& original, std::int64_t from, bool known) {
    Graph raised = original;
    raised.nodes = TRY(nodes(original.nodes, from, known));
    return raised;
  }

  Result<std::vector<Node>> nodes(const std::vector<Node>& originals, std::int64_t from, bool known) {
    std::vector<Node> raised;
    for (std::size_t i = 0; i < originals.size(); ++i) {
      Result<void> done = copy(originals[i], from, known, raised);
      if (!done.ok()) return std::move(done).error().within(graph::place_of(originals[i], i));
    }
    return raised;
  }

  // Converts a node of the model and its subgraphs.
  Result<void> copy(const Node& original, std::int64_t from, bool known, std::vector<Node>& out) {
    Node node = original;
    for (std::size_t i = 0; i < node.attributes.size(); ++i) {
      auto* inner = std::get_if<graph::GraphBox>(&node.attributes[i].value);
      if (!inner) continue;
      // The original's subgraph: facts are keyed by its nodes.
      const auto& before = std::get<graph::GraphBox>(original.attributes[i].value);
      auto raised = graph(*before, from, known);
      if (!raised.ok()) return std::move(raised).error().within(node.attributes[i].name.str());
      *inner = graph::GraphBox(std::move(raised).value());
    }
    const auto facts = facts_.find(&original);
    return raise(std::move(node), from, known && facts != facts_.end() ? facts->second : ops::Values(), out);
  }

  bool is_function(const Node& node) const { return functions_.contains(node.op_type.str()); }

  // Applies the rules in order; nodes that a rule adds are converted from there on, too.
  Result<void> raise(Node node, std::int64_t version, const ops::Values& facts, std::vector<Node>& out) {
    std::vector<std::pair<Node, std::int64_t>> after;
    while (graph::canonical_domain(node.domain.str()).empty() && !is_function(node)) {
      const ops::Descriptor* descriptor = ops::find("", node.op_type.str());
      if (!descriptor) {
        return error_at(Code::unsupported, {},
                        fmt::format("operator '{}' is not known, so it cannot be converted to a newer opset",
                                    shown(node.op_type.str())));
      }
      const auto rule = std::ranges::find_if(
          descriptor->raise, [&](const ops::Raise& one) { return one.to > version && one.to <= target_; });
      if (rule == descriptor->raise.end()) break;
      if (node.inputs.size() < descriptor->required || node.outputs.empty())
        return ops::wrong(
            fmt::format("it has {} inputs and {} outputs", node.inputs.size(), node.outputs.size()),
            fmt::format("{} inputs and an output, at least", descriptor->required));
      ops::Raising raising(node, target_, names_, facts);
      raising.version = rule->to;
      const auto sizes = [&] {
        return std::tuple(node.op_type.str(), node.inputs, node.attributes.size(), node.outputs);
      };
      const auto before = sizes();
      TRY(rule->edit(raising));
      if (sizes() != before) ++changed_;
      for (Node& one : raising.before) TRY(raise(std::move(one), rule->to, {}, out));
      // Nodes that a later rule adds are closer to the node.
      for (std::size_t i = 0; i < raising.after.size(); ++i) {
        after.insert(after.begin() + static_cast<std::ptrdiff_t>(i),
                     {std::move(raising.after[i]), std::int64_t{rule->to}});
      }
      version = rule->to;
    }
    out.push_back(std::move(node));
    for (auto& [one, from] : after) TRY(raise(std::move(one), from, {}, out));
    return {};
  }

  const graph::Model& model_;
  std::int64_t target_;
  const Limits& limits_;
  std::unordered_set<std::string_view> functions_;  // functions in ONNX's domain
  std::int64_t changed_ = 0;
  graph::Names names_;
  ops::Inference inference_;  // owns the data that the facts refer to
  std::unordered_map<const Node*, ops::Values> facts_;
};

}  // namespace

std::int64_t newest_opset() {
  std::int64_t newest = 0;
  for (const ops::Descriptor* one : ops::table()) {
    if (one->domain.empty()) newest = std::max<std::int64_t>(newest, one->since.back());
  }
  return newest;
}

Result<Raised> raise_opset(const graph::Model& model, std::optional<std::int64_t> target,
                           const Limits& limits) {
  const std::int64_t newest = newest_opset(), to = target.value_or(newest);
  const std::int64_t from = model.opset().value_or(to);
  if (to > newest)
    return invalid_argument(fmt::format("opset {} is not known", to),
                            fmt::format("{} is the newest", newest));
  if (from < kOldest) {
    return error_at(Code::unsupported, {}, fmt::format("the model has opset {}", from),
                    fmt::format("opset {} or later can be converted", kOldest));
  }
  if (to < from) {
    return invalid_argument(fmt::format("the model has opset {}, which is newer than {}", from, to),
                            "models are raised, never lowered");
  }
  return Raiser(model, to, limits).run(from);
}

}  // namespace anybit::passes
