// Graphs and their nodes: unique names, defined inputs, consistent types.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/try.hpp"
#include "graph/verify_parts.hpp"

namespace anybit::graph::verifier {
namespace {

using NameSet = std::unordered_set<std::string_view>;

// A set of names that uses hashing only if there are many: most nodes have few attributes.
class SeenNames {
 public:
  explicit SeenNames(std::size_t count) : few_(count <= kFew) {}

  bool add(std::string_view name) {
    if (!few_) return many_.insert(name).second;
    const auto end = list_.begin() + size_;
    if (std::find(list_.begin(), end, name) != end) return false;
    list_[static_cast<std::size_t>(size_++)] = name;
    return true;
  }

 private:
  static constexpr std::size_t kFew = 8;
  bool few_;
  std::ptrdiff_t size_ = 0;
  std::array<std::string_view, kFew> list_;
  NameSet many_;
};

// The types that the graph declares for its values: inputs, outputs, value_info, initializers.
class Statements {
 public:
  explicit Statements(std::pmr::memory_resource* memory) : types_(memory) {}

  Result<void> add(const ValueInfo& value, Known known, const Limits& limits, const Place& place) {
    if (!value.type) {
      if (known == Known::must) return place.invalid("has no type");
      return {};
    }
    TRY(check_type(*value.type, known, limits, place));
    const auto [entry, is_new] = types_.emplace(value.name.str(), &*value.type);
    if (is_new) return {};
    TRY(check_agree(*entry->second, *value.type, value.name.str(), place));
    if (knowledge(*value.type) > knowledge(*entry->second)) entry->second = &*value.type;
    return {};
  }

  Result<void> compare(std::string_view name, const Type& type, const Place& place) const {
    const auto entry = types_.find(name);
    return entry == types_.end() ? Result<void>() : check_agree(*entry->second, type, name, place);
  }

  bool mentions(std::string_view name) const { return types_.contains(name); }

 private:
  std::pmr::unordered_map<std::string_view, const Type*> types_;
};

Result<void> define_inputs(const Graph& graph, Scope& scope, const Place& place) {
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const std::string& name = graph.inputs[i].name;
    const Place here(&place, "input", name, i);
    if (name.empty()) return here.invalid("has no name");
    if (!scope.define(name)) return here.invalid("the name is defined already");
  }
  return {};
}

// An initializer may have the name of an input (its default), but not of another initializer.
class Initializers {
 public:
  Initializers(const Graph& graph, Scope& scope, const Place& place)
      : graph_(graph), scope_(scope), place_(place) {
    if (graph.initializers.empty() && graph.sparse_initializers.empty()) return;
    for (const ValueInfo& input : graph.inputs) free_.insert(input.name.str());
  }

  Result<void> check(const Statements& statements, const Limits& limits) {
    for (std::size_t i = 0; i < graph_.initializers.size(); ++i) {
      const Tensor& tensor = graph_.initializers[i];
      const Place here(&place_, "initializer", tensor.name.str(), i);
      TRY(define(tensor.name.str(), here));
      TRY(check_tensor(tensor, limits, here));
      if (statements.mentions(tensor.name.str())) {
        TRY(statements.compare(tensor.name.str(), type_of(tensor), here));
      }
    }
    for (std::size_t i = 0; i < graph_.sparse_initializers.size(); ++i) {
      const SparseTensor& sparse = graph_.sparse_initializers[i];
      const std::string_view name =
          sparse.values ? std::string_view(sparse.values->name.str()) : std::string_view();
      const Place here(&place_, "sparse initializer", name, i);
      TRY(check_sparse(sparse, limits, here));
      TRY(define(name, here));
    }
    return {};
  }

 private:
  Result<void> define(std::string_view name, const Place& here) {
    if (name.empty()) return here.invalid("has no name");
    if (scope_.define(name) || free_.erase(name) == 1) return {};
    return here.invalid("the name is defined already");
  }

  const Graph& graph_;
  Scope& scope_;
  const Place& place_;
  NameSet free_;
};

Result<void> check_outputs(const Graph& graph, const Scope& scope, const Place& place) {
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
    const std::string& name = graph.outputs[i].name;
    const Place here(&place, "output", name, i);
    if (name.empty()) return here.invalid("has no name");
    if (!scope.has(name)) return here.invalid("nothing produces it", scope.suggest(name));
  }
  return {};
}

Result<void> check_annotations(const Graph& graph, const Scope& scope, const Place& place) {
  for (std::size_t i = 0; i < graph.annotations.size(); ++i) {
    const QuantizationAnnotation& annotation = graph.annotations[i];
    const Place here(&place, "quantization annotation", annotation.tensor.str(), i);
    if (!scope.has(annotation.tensor.str())) {
      return here.invalid("there is no such tensor", scope.suggest(annotation.tensor.str()));
    }
    TRY(check_properties(annotation.parameters, here, "parameter"));
    for (const Property& parameter : annotation.parameters) {
      if (!scope.has(parameter.value.str())) {
        return here.invalid(fmt::format("its {} is {}, which does not exist", quoted(parameter.key.str()),
                                        quoted(parameter.value.str())),
                            scope.suggest(parameter.value.str()));
      }
    }
  }
  return {};
}

Result<void> check_statements(const Graph& graph, Known inputs, const Limits& limits, const Place& place,
                              Statements& statements) {
  const auto add = [&](const std::vector<ValueInfo>& values, std::string_view word,
                       Known known) -> Result<void> {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const Place here(&place, word, values[i].name.str(), i);
      TRY(statements.add(values[i], known, limits, here));
      TRY(check_properties(values[i].metadata, here, "metadata key"));
    }
    return {};
  };
  TRY(add(graph.inputs, "input", inputs));
  TRY(add(graph.outputs, "output", Known::may));
  return add(graph.value_info, "value_info", Known::may);
}

Result<void> check_call(const Node& node, const Function& function, const Place& place) {
  const auto too_many = [&](std::size_t given, std::size_t taken, std::string_view what) {
    return place.invalid(fmt::format("{} {}, but the function has {}", given, what, taken));
  };
  if (node.inputs.size() > function.inputs.size()) {
    return too_many(node.inputs.size(), function.inputs.size(), "inputs");
  }
  if (node.outputs.size() > function.outputs.size()) {
    return too_many(node.outputs.size(), function.outputs.size(), "outputs");
  }
  return {};
}

Result<void> check_attributes(const Node& node, const Context& context, Scope& scope, const Place& place,
                              std::int64_t depth) {
  SeenNames seen(node.attributes.size());
  for (std::size_t i = 0; i < node.attributes.size(); ++i) {
    const Attribute& attribute = node.attributes[i];
    if (attribute.name.empty()) return Place(&place, "attribute", {}, i).invalid("has no name");
    const Place here(&place, attribute.name.str());
    if (!seen.add(attribute.name.str())) return here.invalid("the node has this attribute twice");
    TRY(check_attribute(attribute, context, scope, here, depth));
  }
  return {};
}

Result<void> check_node(const Node& node, const Context& context, Scope& scope, const Place& place,
                        std::int64_t depth) {
  if (node.op_type.empty()) return place.invalid("has no operator (op_type)");
  const std::string_view domain = canonical_domain(node.domain.str());
  if (!context.imports.contains(domain)) {
    return place.invalid(fmt::format("no version of the domain {} is imported", quoted(domain)),
                         "add the domain to opset_import");
  }
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.inputs[i].empty() && !scope.has(node.inputs[i])) return undefined_input(i, scope, place);
  }
  TRY(check_attributes(node, context, scope, place, depth));
  TRY(check_properties(node.metadata, place, "metadata key"));
  if (const auto called = context.functions.find(key_of(node)); called != context.functions.end()) {
    TRY(check_call(node, context.model.functions[called->second], place));
  }
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    if (!node.outputs[i].empty() && !scope.define(node.outputs[i])) {
      return place.invalid(fmt::format("output {} {} is defined already", i, quoted(node.outputs[i])),
                           "each name is defined once, in a graph and the graphs inside it");
    }
  }
  return {};
}

}  // namespace

Result<void> check_nodes(const std::vector<Node>& nodes, const Context& context, Scope& scope,
                         const Place& place, std::int64_t depth) {
  NameSet names;
  scope.bodies.push_back({&nodes, 0});
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    scope.bodies.back().current = i;
    const Place here(&place, nodes[i], i);
    if (!nodes[i].name.empty() && !names.insert(nodes[i].name.str()).second) {
      return here.invalid("another node of the graph has the same name");
    }
    TRY(check_node(nodes[i], context, scope, here, depth));
  }
  scope.bodies.pop_back();
  return {};
}

Result<void> check_graph(const Graph& graph, const Context& context, Scope& scope, const Place& place,
                         std::int64_t depth, Role role) {
  if (depth > context.limits.depth) {
    return place.limit(fmt::format("more than {} levels of nested graphs", context.limits.depth));
  }
  const std::size_t mark = scope.mark();
  const Known known = role == Role::model ? Known::must : Known::may;
  // Enough for most graphs.
  std::array<std::byte, 1024> room;
  std::pmr::monotonic_buffer_resource memory(room.data(), room.size());
  Statements statements(&memory);
  TRY(check_statements(graph, known, context.limits, place, statements));
  TRY(define_inputs(graph, scope, place));
  TRY(Initializers(graph, scope, place).check(statements, context.limits));
  TRY(check_nodes(graph.nodes, context, scope, place, depth));
  TRY(check_outputs(graph, scope, place));
  TRY(check_annotations(graph, scope, place));
  TRY(check_properties(graph.metadata, place, "metadata key"));
  if (role == Role::inner) scope.forget_since(mark);
  return {};
}

}  // namespace anybit::graph::verifier
