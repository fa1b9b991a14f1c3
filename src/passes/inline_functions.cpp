// Inlines the model's functions, so that quantization sees their nodes. Not inlined, unless the model is
// about to run: functions of the domain ai.anybit, which have kernels, and functions for another opset whose
// operators differ.
#include <fmt/format.h>

#include <algorithm>

#include "graph/modules.hpp"
#include "graph/names.hpp"
#include "graph/node.hpp"
#include "graph/rewrite.hpp"
#include "ops/table.hpp"
#include "passes/table.hpp"

namespace anybit::passes {
namespace {

using graph::Attribute;
using graph::Function;
using graph::Graph;
using graph::Node;
using Bindings = std::unordered_map<std::string, const Attribute*>;
using Map = std::unordered_map<std::string, std::string>;

std::optional<std::int64_t> version(const std::vector<graph::OpsetImport>& opsets, std::string_view domain) {
  for (const graph::OpsetImport& one : opsets) {
    if (graph::canonical_domain(one.domain.str()) == graph::canonical_domain(domain))
      return one.version.value_or(1);
  }
  return std::nullopt;
}

// Not named bind: argument-dependent lookup would find std::bind.
void resolve_references(Node& node, const Bindings& bindings) {
  std::vector<Attribute> bound;
  for (Attribute& one : node.attributes) {
    if (one.reference.empty()) {
      bound.push_back(std::move(one));
      continue;
    }
    const auto found = bindings.find(one.reference.str());
    if (found == bindings.end()) continue;  // not given, and the function has no default
    bound.push_back(*found->second);
    bound.back().name = one.name;
  }
  node.attributes = std::move(bound);
  graph::each_graph(node, [&](Graph& inner) {
    for (Node& deeper : inner.nodes) resolve_references(deeper, bindings);
  });
}

// Renames uses of the function's values in a subgraph of one of its nodes, except where the subgraph shadows
// them.
void rename_inside(Graph& graph, Map map) {
  for (const graph::ValueInfo& one : graph.inputs) map.erase(one.name.str());
  for (const graph::Tensor& one : graph.initializers) map.erase(one.name.str());
  for (const Node& node : graph.nodes) {
    for (const std::string& name : node.outputs) map.erase(name);
  }
  const auto rename = [&](const std::string& name) {
    const auto found = map.find(name);
    return found == map.end() ? name : found->second;
  };
  for (Node& node : graph.nodes) {
    for (std::string& name : node.inputs) name = rename(name);
    graph::each_graph(node, [&](Graph& inner) { rename_inside(inner, map); });
  }
  for (graph::ValueInfo& one : graph.outputs) one.name = graph::Text(rename(one.name.str()));
}

class Inliner {
 public:
  Inliner(graph::Model& model, const PassOptions& options)
      : model_(model),
        options_(options),
        own_budget_(model, options.limits),
        budget_(options.budget ? *options.budget : own_budget_),
        functions_(model.functions),
        names_(model) {
    for (const Function& one : functions_) by_name_.emplace(key_of(one, one.name.str()), &one);
  }

  std::int64_t run() {
    each_graph_of(model_, [&](Graph& graph) { inline_in(graph); });
    if (changes_ > 0) drop_uncalled();
    return changes_;
  }

 private:
  static std::string key_of(const auto& one, const std::string& name) {
    return fmt::format("{}\n{}\n{}", graph::canonical_domain(one.domain.str()), name, one.overload.str());
  }

  const Function* function_of(const Node& node) const {
    const auto found = by_name_.find(key_of(node, node.op_type.str()));
    const bool ours = found != by_name_.end() && found->second->domain == graph::kAnybit;
    return found == by_name_.end() || (ours && !options_.to_run) ? nullptr : found->second;
  }

  // Checks the budget: nested calls can expand to exponentially many nodes with ever longer names.
  bool affords(const Function& function, const Node& call) {
    const std::int64_t nodes = node_count(function.nodes);
    const std::int64_t names = 2 * nodes * std::ssize(call.name.str());
    const std::int64_t modules = nodes * graph::module_bytes(call);
    if (budget_.take_nodes(nodes) && budget_.take_bytes(names + modules)) return true;
    budget_.leave(fmt::format("call '{}'", shown(call.name.str())));
    return false;
  }

  static std::int64_t node_count(const std::vector<Node>& nodes) {
    std::int64_t count = std::ssize(nodes);
    for (const Node& node : nodes)
      graph::each_graph(node, [&](const Graph& inner) { count += node_count(inner.nodes); });
    return count;
  }

  // Cached per function: it may have many calls.
  bool fits(const Function& function) {
    const auto [found, fresh] = fits_.try_emplace(&function, false);
    if (fresh) found->second = fits(function.nodes, function);
    return found->second;
  }

  // Whether every operator has the same version in the model's opset and in the function's.
  bool fits(const std::vector<Node>& nodes, const Function& function) const {
    return std::ranges::all_of(nodes, [&](const Node& node) {
      bool inner = true;
      graph::each_graph(node, [&](const Graph& deeper) { inner = inner && fits(deeper.nodes, function); });
      const auto theirs = version(function.opsets, node.domain.str());
      const auto ours = version(model_.opsets, node.domain.str());
      if (!inner || !theirs) return false;
      if (!ours || *ours == *theirs) return true;
      const ops::Descriptor* descriptor = ops::find(node.domain.str(), node.op_type.str());
      return descriptor && ops::version_in(*descriptor, *ours) == ops::version_in(*descriptor, *theirs);
    });
  }

  void import_opsets(const Function& function) {
    for (const graph::OpsetImport& one : function.opsets) {
      if (!version(model_.opsets, one.domain.str())) model_.opsets.push_back(one);
    }
  }

  void inline_in(Graph& graph) {
    bool again = true;
    while (again) {
      again = false;
      std::vector<Node> nodes;
      for (Node& node : graph.nodes) {
        const Function* function = options_.keeps(node) ? nullptr : function_of(node);
        if (!function || !(options_.to_run || fits(*function)) || !affords(*function, node)) {
          nodes.push_back(std::move(node));
          continue;
        }
        import_opsets(*function);
        expand(*function, node, nodes);
        ++changes_;
        again = true;
      }
      graph.nodes = std::move(nodes);
    }
  }

  void expand(const Function& function, const Node& call, std::vector<Node>& out) {
    const std::string prefix = (call.name.empty() ? call.op_type.str() : call.name.str()) + "/";
    Bindings bindings;
    for (const Attribute& one : function.default_attributes) bindings[one.name.str()] = &one;
    for (const Attribute& one : call.attributes) bindings[one.name.str()] = &one;
    Map map;
    for (std::size_t i = 0; i < function.inputs.size(); ++i) map[function.inputs[i]] = input(call, i);
    std::vector<Node> handed_on;
    for (std::size_t i = 0; i < function.outputs.size() && i < call.outputs.size(); ++i) {
      const std::string& name = function.outputs[i];
      if (call.outputs[i].empty()) continue;
      if (!map.emplace(name, call.outputs[i]).second)
        handed_on.push_back(graph::make_node("Identity", {map[name]}, {call.outputs[i]}));
    }
    for (const Node& node : function.nodes) {
      for (const std::string& name : node.outputs) {
        if (!name.empty() && !map.count(name)) map[name] = names_.fresh(prefix + name);
      }
    }
    for (const Node& original : function.nodes) {
      Node node = original;
      resolve_references(node, bindings);
      set_opset(node, function);
      node.name = graph::Text(prefix + (node.name.empty() ? node.op_type.str() : node.name.str()));
      for (auto* list : {&node.inputs, &node.outputs}) {
        for (std::string& name : *list) {
          if (const auto found = map.find(name); found != map.end()) name = found->second;
        }
      }
      graph::each_graph(node, [&](Graph& inner) { rename_inside(inner, map); });
      graph::take_modules(node, call);
      out.push_back(std::move(node));
    }
    std::ranges::move(handed_on, std::back_inserter(out));
  }

  // Marks the node if the function uses another opset than the model.
  void set_opset(Node& node, const Function& function) const {
    const auto theirs = version(function.opsets, node.domain.str());
    if (theirs && theirs != version(model_.opsets, node.domain.str())) node.opset = theirs;
    graph::each_graph(node, [&](Graph& inner) {
      for (Node& deeper : inner.nodes) set_opset(deeper, function);
    });
  }

  void add_calls(const std::vector<Node>& nodes, std::set<const Function*>& called) const {
    for (const Node& node : nodes) {
      if (const Function* function = function_of(node); function && called.insert(function).second)
        add_calls(function->nodes, called);
      graph::each_graph(node, [&](const Graph& inner) { add_calls(inner.nodes, called); });
    }
  }

  void drop_uncalled() {
    std::set<const Function*> called;
    add_calls(model_.graph->nodes, called);
    for (const graph::TrainingInfo& one : model_.training) {
      for (const auto* part : {&one.initialization, &one.algorithm}) {
        if (*part) add_calls((**part)->nodes, called);
      }
    }
    for (const Function& one : functions_) {
      if (one.domain == graph::kAnybit) add_calls(one.nodes, called);
    }
    model_.functions.clear();
    for (const Function& one : functions_) {
      if (one.domain == graph::kAnybit || called.count(&one)) model_.functions.push_back(one);
    }
  }

  graph::Model& model_;
  const PassOptions& options_;
  graph::Budget own_budget_;
  graph::Budget& budget_;
  const std::vector<Function> functions_;
  std::unordered_map<std::string, const Function*> by_name_;
  std::unordered_map<const Function*, bool> fits_;
  graph::Names names_;
  std::int64_t changes_ = 0;
};

Result<std::int64_t> run(graph::Model& model, const PassOptions& options) {
  return model.graph && !model.functions.empty() ? Inliner(model, options).run() : 0;
}

}  // namespace

std::span<const Descriptor> inline_functions_descriptors() {
  static const Descriptor all[] = {
      {.name = "inline_functions", .order = 20, .summary = "inlines the model's functions", .run = run}};
  return all;
}

}  // namespace anybit::passes
