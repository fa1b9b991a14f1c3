#include "ops/infer.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <memory_resource>
#include <unordered_map>
#include <unordered_set>

#include "base/checked.hpp"
#include "graph/budget.hpp"
#include "ops/attribute_kinds.hpp"
#include "ops/check.hpp"
#include "ops/infer_options.hpp"

namespace anybit::ops {
namespace {

using graph::Attribute;
using graph::Function;
using graph::Graph;
using graph::Node;

// Functions may call functions: a few kilobytes can expand to 2^64 nodes. Calls nested deeper than this stay
// unknown.
constexpr std::size_t kDepth = 200;
constexpr std::size_t kProblems = 1000;
constexpr std::int64_t kElements = 2'000'000;  // total of tracked elements

// The names visible in a graph.
struct Scope {
  const Scope* parent = nullptr;
  std::pmr::unordered_map<std::string_view, const Value*> names;

  const Value* find(std::string_view name) const {
    for (const Scope* scope = this; scope; scope = scope->parent) {
      if (const auto found = scope->names.find(name); found != scope->names.end()) return found->second;
    }
    return nullptr;
  }
};

// A state of the inference to return to before a graph is inferred again.
struct Mark {
  std::size_t nodes, graphs, values, problems, corrections;

  explicit Mark(const Inference& at)
      : nodes(at.nodes.size()),
        graphs(at.graphs.size()),
        values(at.values.size()),
        problems(at.problems.size()),
        corrections(at.corrections.size()) {}
  void restore(Inference& result) const {
    result.nodes.resize(nodes);
    result.graphs.resize(graphs, {});
    result.values.resize(values);
    // Corrections refer to graphs by index, and the indices change from here on.
    if (result.corrections.size() > corrections)
      result.corrections.erase(result.corrections.begin() + static_cast<std::ptrdiff_t>(corrections),
                               result.corrections.end());
  }
};

// The context of version and attribute lookups: the model, or a function called by a node.
struct Surroundings {
  const std::vector<graph::OpsetImport>& opsets;
  const Surroundings* caller = nullptr;
  const Node* call = nullptr;
  const Function* function = nullptr;

  std::int64_t opset(std::string_view domain) const {
    for (const graph::OpsetImport& one : opsets) {
      if (graph::canonical_domain(one.domain.str()) == graph::canonical_domain(domain))
        return one.version.value_or(1);
    }
    return 1;
  }
};

const Attribute* find_attribute(const Node& node, std::string_view name, const Surroundings& around) {
  const Attribute* found = node.attribute(name);
  if (!found || found->reference.empty()) return found;
  if (!around.function) return nullptr;
  if (const Attribute* given = find_attribute(*around.call, found->reference.str(), *around.caller))
    return given;
  for (const Attribute& one : around.function->default_attributes) {
    if (one.name == found->reference) return &one;
  }
  return nullptr;
}

// Merges both sources; the inferred facts take precedence.
Value merged(Value inferred, const Value& declared) {
  if (inferred.type == ElementType::undefined && inferred.holder == Holder::none) {
    inferred.type = declared.type;
    inferred.holder = declared.holder;
    inferred.held = declared.held;
  }
  if (!inferred.shape) {
    inferred.shape = declared.shape;
  } else if (declared.shape && declared.shape->size() == inferred.shape->size()) {
    for (std::size_t i = 0; i < inferred.shape->size(); ++i) {
      Dim& dim = (*inferred.shape)[i];
      const Dim& other = (*declared.shape)[i];
      if (!dim.known() && (other.known() || dim.symbol.empty())) dim = other;
    }
  }
  return inferred;
}

// Whether a value can be as declared.
bool ranks_agree(const Value& inferred, const Value& declared) {
  return !inferred.shape || !declared.shape || inferred.shape->size() == declared.shape->size();
}

bool sizes_agree(const Value& inferred, const Value& declared) {
  if (!inferred.shape || !declared.shape) return true;
  return std::ranges::equal(*inferred.shape, *declared.shape, [](const Dim& one, const Dim& other) {
    return !one.known() || !other.known() || one.size == other.size;
  });
}

// Whether a declaration equals the known facts: most do, and need no further check.
bool only_confirms(const std::optional<graph::Type>& declared, const Value& inferred) {
  if (!declared) return true;
  const graph::TensorType* type = declared->tensor();
  if (!type || type->element_type() != inferred.type || inferred.type == ElementType::undefined) return false;
  if (!type->shape) return true;
  if (!inferred.shape) return false;
  return std::ranges::equal(*inferred.shape, type->shape->dims,
                            [](const Dim& one, const graph::Dimension& other) {
                              return one.known() && other.known() && *one.size == other.size();
                            });
}

class Walker {
 public:
  Walker(const graph::Model& model, const InferOptions& options, Inference& result)
      : options_(options), result_(result) {
    for (const Function& function : model.functions) {
      functions_.emplace(key(function.domain.str(), function.name.str(), function.overload.str()), &function);
    }
  }

  bool gave_up() const { return visits_ > most(); }

  Value declared(const std::optional<graph::Type>& type) const { return type ? declared(*type) : Value(); }

  // Maps, sparse tensors and opaque types are not distinguished.
  Value declared(const graph::Type& type) const {
    if (const auto* sequence = std::get_if<graph::SequenceType>(&type.kind)) {
      return sequence_of(sequence->element.get() ? declared(*sequence->element.get()) : Value());
    }
    if (const auto* optional = std::get_if<graph::OptionalType>(&type.kind)) {
      return optional_of(optional->element.get() ? declared(*optional->element.get()) : Value());
    }
    const graph::TensorType* tensor_type = type.tensor();
    if (!tensor_type) return {};
    Value value = tensor(tensor_type->element_type(), std::nullopt);
    if (!tensor_type->shape) return value;
    value.shape.emplace().reserve(tensor_type->shape->dims.size());
    for (const graph::Dimension& dim : tensor_type->shape->dims) value.shape->push_back(fixed(dim));
    return value;
  }

  // Records a declaration that contradicts the inferred type. Sizes are ignored if the caller gave other
  // sizes than those declared in the model.
  void check_declared(std::size_t graph, std::string_view name, const Value& made, const Value& declared) {
    const bool sizes = options_.input_shapes.empty() && options_.dims.empty();
    const bool types = types_agree(made, declared);
    if (types && (sizes ? sizes_agree(made, declared) : ranks_agree(made, declared))) return;
    Error error = wrong(fmt::format("it is declared as {}, and its inferred type is {}", to_string(declared),
                                    to_string(made)),
                        "correct or remove the type in value_info, inputs or outputs")
                      .within(fmt::format("value '{}'", shown(name)));
    if (!types) {
      note(result_.contradictions, graph, std::move(error));
    } else if (result_.corrections.size() < kProblems) {
      // A file must not declare more elements than the limit: then the sizes are left unknown.
      const bool fits = has_at_most(*made.shape, options_.limits.elements);
      result_.corrections.push_back(
          {graph, name, fits ? *made.shape : Shape(made.shape->size()), placed(graph, std::move(error))});
    }
  }

  Body graph(const Graph& graph, std::string place, const Values& given, const Scope* parent,
             const Surroundings& around, std::size_t depth) {
    const std::size_t index = result_.graphs.size();
    result_.graphs.push_back({&graph, std::move(place), depth});
    // Subgraphs may be visited many times; the outermost graph is visited once, and is the largest.
    Scope scope{parent, decltype(Scope::names)(depth == 0 ? &memory_ : std::pmr::get_default_resource())};
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      const std::string& name = graph.inputs[i].name.str();
      if (depth == 0) {  // `given` includes the declared facts
        scope.names[name] = &given[i];
        result_.graphs[index].inputs.push_back(&given[i]);
        continue;
      }
      Value type = declared(graph.inputs[i].type);
      if (i < given.size() && !types_agree(given[i], type)) check_declared(index, name, given[i], type);
      result_.graphs[index].inputs.push_back(
          add(scope, name, i < given.size() ? merged(given[i], type) : std::move(type)));
    }
    for (const graph::Tensor& one : graph.initializers) add(scope, one.name.str(), value_of(one));
    for (const graph::SparseTensor& one : graph.sparse_initializers) {
      if (!one.values) continue;
      const Value* value = add(scope, one.values->name.str(),
                               tensor(one.values->type(), Shape(one.dims.begin(), one.dims.end())));
      result_.sparse.emplace(value, &*one.values);
    }
    std::unordered_map<std::string_view, const graph::ValueInfo*> hints;
    if (options_.value_info) {
      for (const graph::ValueInfo& info : graph.value_info) hints.emplace(info.name.str(), &info);
    }
    Body body;
    body.outputs.reserve(graph.outputs.size());
    body.first = result_.nodes.size();
    body.first_problem = result_.problems.size();
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      NodeFacts& facts = node(graph.nodes[i], i, index, scope, around, depth);
      for (std::size_t k = 0; k < facts.outputs.size(); ++k) {
        const auto hint = hints.find(facts.node->outputs[k]);
        if (hint == hints.end() || only_confirms(hint->second->type, facts.outputs[k])) continue;
        const Value type = declared(hint->second->type);
        check_declared(index, hint->first, facts.outputs[k], type);
        facts.outputs[k] = merged(std::move(facts.outputs[k]), type);
      }
    }
    body.last = result_.nodes.size();
    for (const graph::ValueInfo& output : graph.outputs) {
      const Value& made = body.outputs.emplace_back(value_in(scope, output.name.str()));
      if (only_confirms(output.type, made)) continue;
      check_declared(index, output.name.str(), made, declared(output.type));
    }
    body.last_problem = result_.problems.size();
    return body;
  }

 private:
  friend class NodeCall;

  void note(std::vector<Error>& list, std::size_t graph, Error error) const {
    if (list.size() < kProblems) list.push_back(placed(graph, std::move(error)));
  }

  Error placed(std::size_t graph, Error error) const {
    const std::string& place = result_.graphs[graph].place;
    return place.empty() ? std::move(error) : std::move(error).within(place);
  }

  const Value* add(Scope& scope, std::string_view name, Value value) {
    return scope.names[name] = &result_.values.emplace_back(std::move(value));
  }

  static std::string key(std::string_view domain, std::string_view name, std::string_view overload) {
    return fmt::format("{}\n{}\n{}", graph::canonical_domain(domain), name, overload);
  }

  static Value value_in(const Scope& scope, std::string_view name) {
    const Value* found = scope.find(name);
    return found ? *found : Value();
  }

  Dim fixed(const graph::Dimension& dim) const {
    if (dim.known()) return dim.size();
    const auto* symbol = std::get_if<std::string>(&dim.value);
    if (!symbol) return {};
    const auto found = options_.dims.find(*symbol);
    return found != options_.dims.end() ? Dim(found->second) : Dim::named(*symbol);
  }

  // The model-local function that a node calls, if any; most models have none.
  const Function* called(const Node& node) const {
    if (functions_.empty()) return nullptr;
    const auto found = functions_.find(key(node.domain.str(), node.op_type.str(), node.overload.str()));
    return found == functions_.end() ? nullptr : found->second;
  }

  NodeFacts& node(const Node& node, std::size_t position, std::size_t graph, Scope& scope,
                  const Surroundings& around, std::size_t depth);
  Result<Values> call_function(const Function& function, const Node& node,
                               std::span<const Value* const> inputs, const Surroundings& around,
                               std::size_t depth, NodeFacts& facts);

  const InferOptions& options_;
  Inference& result_;
  std::unordered_map<std::string, const Function*> functions_;
  std::array<std::byte, 4096> room_;
  std::pmr::monotonic_buffer_resource memory_{room_.data(), room_.size()};
  // Bodies are visited again when their inputs change.
  std::int64_t most() const { return options_.limits.nodes + options_.limits.work_nodes; }
  std::int64_t visits_ = 0;
  std::int64_t elements_ = 0;
};

class NodeCall : public Call {
 public:
  NodeCall(Walker& walker, const Node& called, std::size_t position, std::size_t graph, const Scope& scope,
           const Surroundings& around, std::size_t depth)
      : Call(called),
        walker_(walker),
        position_(position),
        graph_(graph),
        scope_(scope),
        around_(around),
        depth_(depth) {}

  const Attribute* find(std::string_view name) const override { return find_attribute(node, name, around_); }

  Result<Body> enter(const Graph& graph, const Values& given, std::string_view which) const override {
    Inference& result = walker_.result_;
    const auto [before, fresh] = entered_.emplace(which, Mark(result));
    if (!fresh) {
      before->second.restore(result);
      result.problems.resize(before->second.problems);
    }
    if (depth_ >= kDepth) return Body{Values(graph.outputs.size())};
    std::string place = fmt::format("{}, {}", graph::place_of(node, position_), which);
    return walker_.graph(graph, std::move(place), given, &scope_, around_, depth_ + 1);
  }

  void repeat(const Body& body, const Dim& runs) const override {
    for (std::size_t i = body.first; i < body.last; ++i) {
      walker_.result_.nodes[i].runs = walker_.result_.nodes[i].runs * runs;
    }
  }

  void rule_out(const Body& body) const override {
    auto& problems = walker_.result_.problems;
    problems.erase(problems.begin() + static_cast<std::ptrdiff_t>(body.first_problem),
                   problems.begin() + static_cast<std::ptrdiff_t>(body.last_problem));
    std::unordered_set<std::size_t> graphs;
    for (std::size_t i = body.first; i < body.last; ++i) graphs.insert(walker_.result_.nodes[i].graph);
    std::erase_if(walker_.result_.corrections, [&](const auto& one) { return graphs.contains(one.graph); });
    for (const std::size_t one : graphs) walker_.result_.graphs[one].ruled_out = true;
  }

  void contradict(const std::string& message) const override {
    walker_.note(walker_.result_.contradictions, graph_,
                 wrong(message, "one type for both").within(graph::place_of(node, position_)));
  }

  std::int64_t work(const Body& body) const override {
    std::int64_t sum = 0;
    for (std::size_t i = body.first; i < body.last; ++i) {
      const NodeFacts& facts = walker_.result_.nodes[i];
      const Dim one = facts.macs * (facts.runs.known() ? facts.runs : Dim(1));
      sum = checked_add(sum, one.size.value_or(0)).value_or(INT64_MAX);
    }
    return sum;
  }

 private:
  Walker& walker_;
  std::size_t position_, graph_;
  const Scope& scope_;
  const Surroundings& around_;
  std::size_t depth_;
  mutable std::map<std::string, Mark, std::less<>> entered_;
};

Result<Values> Walker::call_function(const Function& function, const Node& node,
                                     std::span<const Value* const> inputs, const Surroundings& around,
                                     std::size_t depth, NodeFacts& facts) {
  if (depth >= kDepth) return Values(node.outputs.size());
  const Surroundings inner{function.opsets, &around, &node, &function};
  const Mark outside(result_);
  Scope scope;
  for (std::size_t i = 0; i < function.inputs.size(); ++i) {
    add(scope, function.inputs[i], i < inputs.size() ? *inputs[i] : Value());
  }
  for (std::size_t i = 0; i < function.nodes.size(); ++i) {
    this->node(function.nodes[i], i, 0, scope, inner, depth + 1);
  }
  for (std::size_t i = outside.problems; i < result_.problems.size(); ++i) {
    result_.problems[i] =
        std::move(result_.problems[i]).within(fmt::format("function '{}'", function.name.str()));
  }
  facts.macs = 0;
  for (std::size_t i = outside.nodes; i < result_.nodes.size(); ++i) {
    const NodeFacts& inside = result_.nodes[i];
    facts.multiplies = facts.multiplies || inside.multiplies;
    if (inside.multiplies) facts.macs = facts.macs + inside.macs * inside.runs;
  }
  Values values;
  for (const std::string& name : function.outputs) values.push_back(value_in(scope, name));
  values.resize(node.outputs.size());
  // The nodes of a body belong to the function, not to this graph: only their sum is kept.
  outside.restore(result_);
  return values;
}

NodeFacts& Walker::node(const Node& node, std::size_t position, std::size_t graph, Scope& scope,
                        const Surroundings& around, std::size_t depth) {
  NodeFacts& facts = result_.nodes.emplace_back();
  facts.node = &node;
  facts.graph = graph;
  facts.inputs.reserve(node.inputs.size());
  static const Value unknown;
  for (const std::string& name : node.inputs) {
    const Value* found = name.empty() ? nullptr : scope.find(name);
    facts.inputs.push_back(found ? found : &unknown);
  }
  Result<Values> outputs = Values();
  std::optional<Error> failed;
  const bool in_budget = ++visits_ <= most();
  const Function* function = called(node);
  const Descriptor* descriptor = function ? nullptr : ops::find(node.domain.str(), node.op_type.str());
  NodeCall call(*this, node, position, graph, scope, around, depth);
  call.inputs = facts.inputs;
  if (function) {
    facts.known = true;
    if (in_budget) outputs = call_function(*function, node, facts.inputs, around, depth, facts);
  } else if (descriptor) {
    facts.known = true;
    const std::int64_t opset = node.opset.value_or(around.opset(node.domain.str()));
    const auto version = checked_version(*descriptor, node, opset);
    facts.malformed = !version.ok();
    if (facts.malformed) outputs = version.error();
    if (!facts.malformed && in_budget) {
      call.version = *version;
      outputs = descriptor->infer(call);
      if (outputs.ok()) {
        auto checked = check(*descriptor, call);
        // An operator that is only unsupported may be valid: its inferred outputs are kept.
        const bool beyond = !checked.ok() && checked.error().code == Code::unsupported;
        if (beyond) {
          facts.refusal = checked.error().message;
          failed = std::move(checked).error();
        }
        if (!checked.ok() && !beyond) outputs = std::move(checked).error();
      }
    }
  }
  if (!function) facts.multiplies = descriptor && descriptor->macs;
  const bool works = outputs.ok();
  if (works) {
    facts.outputs = std::move(outputs).value();
  } else {
    facts.problem = outputs.error().message;
    failed = std::move(outputs).error();
  }
  if (failed) {
    facts.error = std::make_shared<const Error>(std::move(*failed).within(graph::place_of(node, position)));
    if (result_.problems.size() < kProblems) result_.problems.push_back(*facts.error);
  }
  facts.outputs.resize(node.outputs.size());
  if (works && !function && facts.multiplies && in_budget) facts.macs = descriptor->macs(call, facts.outputs);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    Value& value = facts.outputs[i];
    if (value.elements) elements_ += static_cast<std::int64_t>(value.elements->size());
    if (elements_ > kElements) value.elements.reset();
    if (!node.outputs[i].empty()) scope.names[node.outputs[i]] = &value;
  }
  return facts;
}

}  // namespace

Inference::Inference() = default;
Inference::Inference(Inference&&) = default;             // NOLINT(performance-noexcept-move-constructor)
Inference& Inference::operator=(Inference&&) = default;  // NOLINT(performance-noexcept-move-constructor)
Inference::~Inference() = default;

Result<Inference> infer(const graph::Model& model, const InferOptions& options) {
  const InferOptions fixed = TRY(checked_options(model, options));
  Inference result;
  Walker walker(model, fixed, result);
  result.inputs.reserve(model.graph->inputs.size());
  for (const graph::ValueInfo& input : model.graph->inputs) {
    Value value = walker.declared(input.type);
    const auto given = fixed.input_shapes.find(input.name.str());
    if (given != fixed.input_shapes.end()) value.shape = Shape(given->second.begin(), given->second.end());
    result.inputs.push_back(std::move(value));
  }
  const Surroundings around{model.opsets};
  result.outputs = walker.graph(*model.graph, "", result.inputs, nullptr, around, 0).outputs;
  if (walker.gave_up()) return graph::too_many_nodes(options.limits.work_nodes);
  for (std::size_t i = 0; i < result.outputs.size(); ++i) {
    const auto& type = model.graph->outputs[i].type;
    if (only_confirms(type, result.outputs[i])) continue;
    result.outputs[i] = merged(std::move(result.outputs[i]), walker.declared(type));
  }
  return result;
}

Result<void> check_nodes(const Inference& inference) {
  for (const NodeFacts& facts : inference.nodes) {
    if (!facts.malformed) continue;
    return wrong(facts.problem)
        .within(
            fmt::format("node '{}' ({})", shown(facts.node->name.str()), shown(facts.node->op_type.str())));
  }
  return {};
}

}  // namespace anybit::ops
