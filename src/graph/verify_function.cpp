// Functions of the model: their bodies, and their call graph.
#include <fmt/format.h>

#include <algorithm>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/try.hpp"
#include "graph/verify_parts.hpp"

namespace anybit::graph::verifier {
namespace {

std::string name_of(const Function& function) {
  std::string name = shown(function.domain.str());
  if (!name.empty()) name += '.';
  name += shown(function.name.str());
  if (!function.overload.empty()) name += ":" + shown(function.overload.str());
  return name;
}

struct Call {
  std::size_t callee;
  std::int64_t depth;  // of the calling graph, within the caller
};

// The size of a function, or of the main graph, after all calls are inlined.
struct Body {
  std::vector<Call> calls;
  std::int64_t nodes = 0, depth = 1;
};

void collect(const std::vector<Node>& nodes, const Functions& functions, std::int64_t depth, Body& body);

void collect(const Attribute::Value& value, const Functions& functions, std::int64_t depth, Body& body) {
  if (const auto* graph = std::get_if<GraphBox>(&value)) collect((*graph)->nodes, functions, depth, body);
  if (const auto* graphs = std::get_if<std::vector<GraphBox>>(&value)) {
    for (const GraphBox& graph : *graphs) collect(graph->nodes, functions, depth, body);
  }
}

void collect(const std::vector<Node>& nodes, const Functions& functions, std::int64_t depth, Body& body) {
  body.depth = std::max(body.depth, depth);
  body.nodes += static_cast<std::int64_t>(nodes.size());
  for (const Node& node : nodes) {
    const auto called = functions.find(key_of(node));
    if (called != functions.end()) body.calls.push_back({called->second, depth});
    for (const Attribute& attribute : node.attributes) collect(attribute.value, functions, depth + 1, body);
  }
}

// Depth-first traversal, callees before callers; with an explicit stack, since a call chain may be as long as
// the file.
class CallGraph {
 public:
  CallGraph(const Model& model, const Functions& functions, const Limits& limits)
      : model_(model), functions_(functions), limits_(limits) {}

  Result<void> check() {
    for (const Function& function : model_.functions) {
      collect(function.nodes, functions_, 1, bodies_.emplace_back());
    }
    states_.assign(bodies_.size(), State::fresh);
    for (std::size_t i = 0; i < bodies_.size(); ++i) TRY(visit(i));
    Body main;
    if (model_.graph) collect(model_.graph->nodes, functions_, 1, main);
    return expand(main,
                  Place(nullptr, "graph", model_.graph ? model_.graph->name.str() : std::string_view()));
  }

 private:
  enum class State : char { fresh, open, done };
  struct Step {
    std::size_t function, next;
  };

  Result<void> visit(std::size_t start) {
    if (states_[start] != State::fresh) return {};
    std::vector<Step> path{{start, 0}};
    states_[start] = State::open;
    while (!path.empty()) {
      Step& top = path.back();
      if (top.next == bodies_[top.function].calls.size()) {
        TRY(expand(bodies_[top.function],
                   Place(nullptr, "function", name_of(model_.functions[top.function]))));
        states_[top.function] = State::done;
        path.pop_back();
        continue;
      }
      const std::size_t callee = bodies_[top.function].calls[top.next++].callee;
      if (states_[callee] == State::open) return recursion(path, callee);
      if (states_[callee] == State::fresh) {
        states_[callee] = State::open;
        path.push_back({callee, 0});
      }
    }
    return {};
  }

  Error recursion(const std::vector<Step>& path, std::size_t callee) const {
    constexpr std::size_t kShown = 16;
    std::string chain;
    std::size_t shown = 0;
    const auto first =
        std::find_if(path.begin(), path.end(), [&](const Step& s) { return s.function == callee; });
    for (auto step = first; step != path.end() && shown < kShown; ++step, ++shown) {
      chain += name_of(model_.functions[step->function]) + " → ";
    }
    if (static_cast<std::size_t>(path.end() - first) > kShown) chain += "… → ";
    chain += name_of(model_.functions[callee]);
    const std::string name = name_of(model_.functions[callee]);
    return Place(nullptr, "function", name).invalid(fmt::format("calls itself: {}", chain));
  }

  // The callees are expanded already. Functions that call another function twice each grow exponentially.
  Result<void> expand(Body& body, const Place& place) const {
    for (const Call& call : body.calls) {
      const Body& callee = bodies_[call.callee];
      body.nodes = std::min(body.nodes + callee.nodes, limits_.nodes + 1);
      body.depth = std::max(body.depth, call.depth + callee.depth);
    }
    if (body.nodes > limits_.nodes) {
      return place.limit(fmt::format("more than {} nodes, with the functions it calls", limits_.nodes));
    }
    if (body.depth > limits_.depth) {
      return place.limit(fmt::format("more than {} levels of nested graphs and calls", limits_.depth));
    }
    return {};
  }

  const Model& model_;
  const Functions& functions_;
  const Limits& limits_;
  std::vector<Body> bodies_;
  std::vector<State> states_;
};

Result<void> define_all(const std::vector<std::string>& inputs, Scope& scope, const Place& place) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].empty()) return place.invalid(fmt::format("input {} has no name", i));
    if (!scope.define(inputs[i]))
      return place.invalid(fmt::format("input {} is there twice", quoted(inputs[i])));
  }
  return {};
}

Result<std::unordered_set<std::string_view>> attributes_of(const Function& function, const Context& context,
                                                           const Place& place) {
  std::unordered_set<std::string_view> names;
  const auto add = [&](std::string_view name) -> Result<void> {
    if (name.empty()) return place.invalid("an attribute has no name");
    if (!names.insert(name).second)
      return place.invalid(fmt::format("attribute {} is there twice", quoted(name)));
    return {};
  };
  for (const std::string& name : function.attributes) TRY(add(name));
  for (const Attribute& attribute : function.default_attributes) {
    TRY(add(attribute.name.str()));
    Scope nothing;
    TRY(check_attribute(attribute, context, nothing, Place(&place, "attribute", attribute.name.str()), 1));
  }
  return names;
}

}  // namespace

std::size_t FunctionHash::operator()(const FunctionKey& key) const {
  const std::hash<std::string_view> hash;
  return (hash(key.domain) * 31 + hash(key.name)) * 31 + hash(key.overload);
}

FunctionKey key_of(const Function& function) {
  return {canonical_domain(function.domain.str()), function.name.str(), function.overload.str()};
}

FunctionKey key_of(const Node& node) {
  return {canonical_domain(node.domain.str()), node.op_type.str(), node.overload.str()};
}

Result<Functions> index_functions(const Model& model) {
  Functions functions;
  for (std::size_t i = 0; i < model.functions.size(); ++i) {
    const Function& function = model.functions[i];
    if (function.name.empty()) return Place(nullptr, "function", {}, i).invalid("has no name");
    if (!functions.emplace(key_of(function), i).second) {
      const std::string name = name_of(function);
      return Place(nullptr, "function", name)
          .invalid("there is another of the same domain, name and overload");
    }
  }
  return functions;
}

Result<void> check_calls(const Model& model, const Functions& functions, const Limits& limits) {
  return CallGraph(model, functions, limits).check();
}

Result<void> check_function(const Function& function, const Context& outer) {
  const std::string name = name_of(function);
  const Place place(nullptr, "function", name);
  const Imports imports = TRY(check_imports(function.opsets, place));
  Context context{outer.limits, outer.model, outer.functions, imports};
  const auto attributes = TRY(attributes_of(function, context, place));
  context.attributes = &attributes;
  Scope scope;
  TRY(define_all(function.inputs, scope, place));
  for (std::size_t i = 0; i < function.value_info.size(); ++i) {
    const ValueInfo& value = function.value_info[i];
    if (!value.type) continue;
    TRY(check_type(*value.type, Known::may, outer.limits, Place(&place, "value_info", value.name.str(), i)));
  }
  TRY(check_nodes(function.nodes, context, scope, place, 1));
  std::unordered_set<std::string_view> seen;
  for (std::size_t i = 0; i < function.outputs.size(); ++i) {
    const std::string& output = function.outputs[i];
    const Place here(&place, "output", output, i);
    if (output.empty()) return here.invalid("has no name");
    if (!seen.insert(output).second) return here.invalid("is there twice");
    if (!scope.has(output)) return here.invalid("nothing produces it", scope.suggest(output));
  }
  return check_properties(function.metadata, place, "metadata key");
}

}  // namespace anybit::graph::verifier
