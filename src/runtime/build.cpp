// Names become slots, functions are put in place, constants are computed, and what nobody needs is left out.
#include "runtime/build.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/nearest.hpp"
#include "ops/attribute_kinds.hpp"
#include "ops/frame.hpp"
#include "portable/to_operators.hpp"
#include "runtime/fold.hpp"
#include "runtime/fuse.hpp"

namespace anybit::runtime {
namespace {

using graph::Function;
using graph::Graph;
using graph::Node;
using ops::Array;

constexpr std::size_t kDepth = 200;

using Opsets = std::vector<graph::OpsetImport>;

// The names that nodes can see, and the program whose slots they are.
struct Scope {
  Program& program;
  Scope* parent = nullptr;
  std::unordered_map<std::string, int> names = {};

  // -1 if there is none. A value of an outer program is captured.
  int find(const std::string& name) {
    if (const auto found = names.find(name); found != names.end()) return found->second;
    const int outer = parent ? parent->find(name) : -1;
    if (outer < 0 || &parent->program == &program) return outer;
    const Slot& above = parent->program.slots[static_cast<std::size_t>(outer)];
    const int inner = add(name);
    Slot& slot = program.slots[static_cast<std::size_t>(inner)];
    if (above.is_constant) {
      slot.is_constant = true;
      slot.value = above.value;
    } else {
      program.captures.push_back({outer, inner});
    }
    return inner;
  }

  int add(const std::string& name) {
    const auto slot = static_cast<int>(program.slots.size());
    program.slots.push_back({.name = name});
    names[name] = slot;
    return slot;
  }
};

// What references to a function's attributes stand for.
using Bindings = std::unordered_map<std::string, const graph::Attribute*>;

Node bound(const Node& node, const Bindings& bindings);

void bind_graph(Graph& graph, const Bindings& bindings) {
  for (Node& node : graph.nodes) node = bound(node, bindings);
}

// A node of a function with the attributes of the call in place of references.
Node bound(const Node& node, const Bindings& bindings) {
  Node result = node;
  result.attributes.clear();
  for (const graph::Attribute& one : node.attributes) {
    if (one.reference.empty()) {
      result.attributes.push_back(one);
      if (auto* inner = std::get_if<graph::GraphBox>(&result.attributes.back().value))
        bind_graph(**inner, bindings);
      continue;
    }
    const auto found = bindings.find(one.reference.str());
    if (found == bindings.end()) continue;  // not given, and the function has no default
    result.attributes.push_back(*found->second);
    result.attributes.back().name = one.name;
  }
  return result;
}

class Builder {
 public:
  Builder(const graph::Model& model, std::shared_ptr<ops::Memory> memory, ThreadPool& pool,
          const BuildOptions& options)
      : model_(model),
        memory_(std::move(memory)),
        pool_(pool),
        options_(options),
        own_budget_(model, options.limits),
        budget_(options.budget ? *options.budget : own_budget_) {
    for (std::size_t i = 0; i < options.watch.size(); ++i) watched_.emplace(options.watch[i], i);
    for (const Function& function : model.functions) {
      functions_.emplace(key(function.domain.str(), function.name.str(), function.overload.str()), &function);
    }
  }

  Result<std::unique_ptr<Program>> graph(const Graph& graph, Scope* outer, const Opsets& opsets,
                                         std::size_t depth) {
    if (depth > kDepth) return ops::wrong("graphs are nested too deeply");
    auto program = std::make_unique<Program>();
    Scope scope{*program, outer};
    TRY(add_inputs(graph, scope, outer == nullptr));
    TRY(add_nodes(graph.nodes, scope, opsets, depth));
    for (const graph::ValueInfo& output : graph.outputs) {
      const int slot = scope.find(output.name.str());
      if (slot < 0) return invalid_model({}, fmt::format("output '{}' is not produced", output.name.str()));
      program->outputs.push_back(slot);
    }
    TRY(finish(*program));
    return program;
  }

  // Every value that is to be watched must have been met.
  Result<void> check_watched() const {
    std::vector<bool> met(options_.watch.size());
    for (const std::string& name : met_) met[watched_.at(name)] = true;
    for (std::size_t i = 0; i < met.size(); ++i) {
      if (watched_.at(options_.watch[i]) != i)
        return invalid_argument(fmt::format("value '{}' is to be watched twice", shown(options_.watch[i])));
      if (!met[i]) {
        return error_at(Code::not_found, {},
                        fmt::format("the model has no value '{}' to watch", shown(options_.watch[i])),
                        "values inside functions cannot be watched");
      }
    }
    return {};
  }

 private:
  // The slot of a value of a graph: it is shown if somebody asked for its name.
  void watch(const std::string& name, int slot, Program& program) {
    const auto found = watched_.find(name);
    if (found == watched_.end() || functions_entered_ > 0 || slot < 0) return;
    auto& numbers = program.slots[static_cast<std::size_t>(slot)].watched;
    if (std::ranges::find(numbers, found->second) == numbers.end()) numbers.push_back(found->second);
    met_.insert(name);
  }

  static std::string key(std::string_view domain, std::string_view name, std::string_view overload) {
    return fmt::format("{}\n{}\n{}", graph::canonical_domain(domain), name, overload);
  }

  Result<void> add_constant(Scope& scope, const std::string& name, Array array, bool is_constant) {
    const auto found = scope.names.find(name);
    const int slot = found != scope.names.end() ? found->second : scope.add(name);
    Slot& about = scope.program.slots[static_cast<std::size_t>(slot)];
    about.is_constant = is_constant;
    about.value = std::move(array);
    watch(name, slot, scope.program);
    return {};
  }

  Result<void> add_inputs(const Graph& graph, Scope& scope, bool outermost) {
    // Before IR 4 every initializer had to be an input, too; nobody meant them to be replaced.
    const bool old = outermost && model_.ir_version.value_or(0) < 4;
    std::unordered_map<std::string_view, bool> initialized;
    for (const graph::Tensor& one : graph.initializers) initialized[one.name.str()] = true;
    for (const graph::SparseTensor& one : graph.sparse_initializers) {
      if (one.values) initialized[one.values->name.str()] = true;
    }
    for (const graph::ValueInfo& input : graph.inputs) {
      if (old && initialized.count(input.name.str())) continue;
      scope.program.inputs.push_back(scope.add(input.name.str()));
      // Those of graphs inside nodes are not checked when they are run.
      const graph::TensorType* tensor = outermost && input.type ? input.type->tensor() : nullptr;
      if (tensor && tensor->element) scope.program.slots.back().type = tensor->element_type();
      watch(input.name.str(), scope.program.inputs.back(), scope.program);
    }
    const auto is_input = [&](const std::string& name) { return scope.names.count(name) != 0; };
    const auto add = [&](const std::string& name, Result<Array> array) -> Result<void> {
      if (!array.ok()) return std::move(array).error().within(fmt::format("initializer '{}'", shown(name)));
      return add_constant(scope, name, std::move(array).value(), !is_input(name));
    };
    for (const graph::Tensor& one : graph.initializers) TRY(add(one.name.str(), Array::from(one, *memory_)));
    for (const graph::SparseTensor& one : graph.sparse_initializers)
      TRY(add(one.values->name.str(), dense(one)));
    return {};
  }

  std::int64_t opset(const Opsets& opsets, std::string_view domain) const {
    for (const graph::OpsetImport& one : opsets) {
      if (graph::canonical_domain(one.domain.str()) == graph::canonical_domain(domain))
        return one.version.value_or(1);
    }
    return 1;
  }

  Result<void> add_nodes(const std::vector<Node>& nodes, Scope& scope, const Opsets& opsets,
                         std::size_t depth) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      Result<void> added = add_node(nodes[i], graph::place_of(nodes[i], i), scope, opsets, depth);
      if (!added.ok()) return std::move(added).error().within(graph::place_of(nodes[i], i));
    }
    return {};
  }

  Result<void> add_node(const Node& node, std::string place, Scope& scope, const Opsets& opsets,
                        std::size_t depth) {
    // Functions that call functions can stand for more nodes than fit anywhere.
    if (functions_entered_ > 0 && ++nodes_ > options_.limits.work_nodes)
      return graph::too_many_nodes(options_.limits.work_nodes);
    const auto function = functions_.find(key(node.domain.str(), node.op_type.str(), node.overload.str()));
    if (function != functions_.end())
      return add_call(*function->second, node, std::move(place), scope, depth);
    return add_operator(node, std::move(place), scope, opsets, depth);
  }

  Result<void> add_operator(const Node& node, std::string place, Scope& scope, const Opsets& opsets,
                            std::size_t depth) {
    const ops::Descriptor* descriptor = ops::find(node.domain.str(), node.op_type.str());
    if (!descriptor || !descriptor->run) return unknown(node);
    // Known before the graphs inside later nodes are built, so that what those compute from it is constant,
    // too.
    if (const graph::Tensor* held = held_by(node))
      return add_constant(scope, node.outputs[0], TRY(Array::from(*held, *memory_)), true);
    Step step;
    step.node = &node;
    step.descriptor = descriptor;
    step.place = std::move(place);
    const std::int64_t imported = opset(opsets, node.domain.str());
    const auto version = ops::version_in(*descriptor, imported);
    if (!version) {
      return ops::wrong(fmt::format("opset {} does not have {} yet", imported, descriptor->name),
                        fmt::format("it came with opset {}", descriptor->since.front()));
    }
    step.version = *version;
    TRY(ops::check_attributes(node));
    for (const std::string& name : node.inputs) step.inputs.push_back(name.empty() ? -1 : scope.find(name));
    TRY(check_inputs(step));
    TRY(add_graphs(node, step, scope, opsets, depth));
    for (const std::string& name : node.outputs) {
      step.outputs.push_back(name.empty() ? -1 : scope.add(name));
      watch(name, step.outputs.back(), scope.program);
    }
    scope.program.steps.push_back(std::move(step));
    return {};
  }

  // The tensor of a Constant.
  static const graph::Tensor* held_by(const Node& node) {
    const bool constant =
        node.op_type.str() == "Constant" && graph::canonical_domain(node.domain.str()).empty();
    const graph::Attribute* value = constant && node.outputs.size() == 1 ? node.attribute("value") : nullptr;
    return value && !node.outputs[0].empty() ? std::get_if<graph::Tensor>(&value->value) : nullptr;
  }

  // Fusions and what operators prepare rely on it.
  static Result<void> check_inputs(const Step& step) {
    const std::size_t needed = step.descriptor->required;
    for (std::size_t i = 0; i < needed; ++i) {
      if (i < step.inputs.size() && step.inputs[i] >= 0) continue;
      return ops::wrong(
          fmt::format("input {} is missing", i),
          fmt::format("{} needs {} input{}", step.descriptor->name, needed, needed == 1 ? "" : "s"));
    }
    return {};
  }

  static Error unknown(const Node& node) {
    std::vector<std::string_view> names;
    for (const ops::Descriptor* one : ops::table()) {
      if (one->run && one->domain == graph::canonical_domain(node.domain.str())) names.push_back(one->name);
    }
    const std::string domain =
        node.domain.empty() ? std::string() : fmt::format(" of domain '{}'", shown(node.domain.str()));
    const auto nearest = anybit::nearest(node.op_type.str(), names);
    return error_at(Code::unsupported, {},
                    fmt::format("operator '{}'{} cannot be run", shown(node.op_type.str()), domain),
                    nearest.empty() ? std::string() : fmt::format("is '{}' meant?", nearest.front()));
  }

  Result<void> add_graphs(const Node& node, Step& step, Scope& scope, const Opsets& opsets,
                          std::size_t depth) {
    for (const graph::Attribute& one : node.attributes) {
      const auto* inner = std::get_if<graph::GraphBox>(&one.value);
      if (!inner) continue;
      auto program = graph(**inner, &scope, opsets, depth + 1);
      if (!program.ok()) return std::move(program).error().within(one.name.str());
      for (const Program::Capture& capture : (*program)->captures) step.captured.push_back(capture.outer);
      step.graphs.push_back({one.name.str(), std::move(program).value()});
    }
    return {};
  }

  // A function of ours is one operator, which has kernels; any other is its nodes.
  Result<void> add_call(const Function& function, const Node& node, std::string place, Scope& scope,
                        std::size_t depth) {
    const auto found = meanings_.try_emplace(&function, std::nullopt);
    if (found.second) found.first->second = portable::meaning_of(function);
    const std::optional<portable::Meaning>& meaning = found.first->second;
    if (!meaning) return add_function(function, node, scope, depth);
    scope.program.made.push_back(node);
    Node& made = scope.program.made.back();
    portable::to_operator(made, *meaning);
    return add_operator(made, std::move(place), scope, {}, depth);
  }

  Result<void> add_function(const Function& function, const Node& node, Scope& scope, std::size_t depth) {
    if (depth > kDepth) return ops::wrong("functions are nested too deeply");
    Bindings bindings;
    for (const graph::Attribute& one : function.default_attributes) bindings[one.name.str()] = &one;
    for (const graph::Attribute& one : node.attributes) bindings[one.name.str()] = &one;
    // Inside, only the function's own names are seen; they stand for slots of the caller's program.
    Scope inside{scope.program, nullptr};
    ++functions_entered_;
    for (std::size_t i = 0; i < function.inputs.size() && i < node.inputs.size(); ++i) {
      if (!node.inputs[i].empty()) inside.names[function.inputs[i]] = scope.find(node.inputs[i]);
    }
    for (std::size_t i = 0; i < function.nodes.size(); ++i) {
      scope.program.made.push_back(bound(function.nodes[i], bindings));
      Node& made = scope.program.made.back();
      std::string place = fmt::format("function '{}': {}", function.name.str(), graph::place_of(made, i));
      Result<void> added = add_node(made, place, inside, function.opsets, depth + 1);
      if (!added.ok()) return std::move(added).error().within(place);
    }
    --functions_entered_;
    for (std::size_t i = 0; i < function.outputs.size() && i < node.outputs.size(); ++i) {
      if (node.outputs[i].empty()) continue;
      const int slot = inside.find(function.outputs[i]);
      scope.names[node.outputs[i]] = slot;
      watch(node.outputs[i], slot, scope.program);
    }
    return {};
  }

  Result<Array> dense(const graph::SparseTensor& sparse);
  Result<void> finish(Program& program);

  const graph::Model& model_;
  std::shared_ptr<ops::Memory> memory_;
  ThreadPool& pool_;
  const BuildOptions& options_;
  graph::Budget own_budget_;
  graph::Budget& budget_;
  std::int64_t nodes_ = 0;  // that functions stand for
  std::unordered_map<std::string, const Function*> functions_;
  std::unordered_map<const Function*, std::optional<portable::Meaning>> meanings_;  // of those that were met
  std::unordered_map<std::string, std::size_t> watched_;  // numbers in BuildOptions::watch
  std::unordered_set<std::string> met_;                   // those that the model has
  int functions_entered_ = 0;                             // names in there are not the model's
};

// Indices are linear, or one row of coordinates for each value.
Result<Array> Builder::dense(const graph::SparseTensor& sparse) {
  const Array values = TRY(Array::from(*sparse.values, *memory_));
  const Array indices = TRY(Array::from(*sparse.indices, *memory_));
  const ops::Dims dims{std::span(sparse.dims)};
  const std::int64_t bytes = TRY(ops::array_bytes(values.type(), dims, ops::Layout::plain));
  if (!budget_.take_bytes(bytes)) {
    return error_at(Code::limit_exceeded, {}, fmt::format("it takes {} bytes when it is not sparse", bytes),
                    "a higher --max-work-bytes, if the model is what you expect");
  }
  Array result = TRY(Array::make(*memory_, values.type(), dims));
  const ops::Dims strides = ops::strides_of(dims);
  const std::size_t columns = indices.rank() == 2 ? dims.size() : 1;
  bool inside = true;
  ops::for_moved(values.type(), [&]<class T>(T) {
    std::ranges::fill(result.elements<T>(), T());
    for (std::int64_t i = 0; i < values.count(); ++i) {
      const std::int64_t* row = indices.data<std::int64_t>() + i * static_cast<std::int64_t>(columns);
      std::int64_t at = indices.rank() == 2 ? 0 : row[0];
      for (std::size_t c = 0; indices.rank() == 2 && c < columns; ++c) {
        inside = inside && row[c] >= 0 && row[c] < dims[c];
        at += inside ? row[c] * strides[c] : 0;
      }
      inside = inside && at >= 0 && at < result.count();
      if (inside) result.mutable_data<T>()[at] = values.data<T>()[i];
    }
  });
  if (!inside)
    return ops::wrong(fmt::format("sparse tensor '{}' has an index outside", sparse.values->name.str()));
  return result;
}

// Whether values inside the graphs of a step are watched.
bool watches(const Step& step) {
  return std::ranges::any_of(step.graphs, [](const Step::Inner& one) { return one.program->watched; });
}

// Steps whose outputs nobody uses, from the last to the first.
void drop_unused(Program& program) {
  std::vector<bool> needed(program.slots.size());
  for (std::size_t i = 0; i < needed.size(); ++i) needed[i] = !program.slots[i].watched.empty();
  for (const int slot : program.outputs) needed[static_cast<std::size_t>(slot)] = true;
  std::vector<bool> kept(program.steps.size());
  for (std::size_t i = program.steps.size(); i-- > 0;) {
    const Step& step = program.steps[i];
    kept[i] = std::ranges::any_of(
        step.outputs, [&](int slot) { return slot >= 0 && needed[static_cast<std::size_t>(slot)]; });
    kept[i] = kept[i] || watches(step);
    if (!kept[i]) continue;
    for (const auto* list : {&step.inputs, &step.captured}) {
      for (const int slot : *list) {
        if (slot >= 0) needed[static_cast<std::size_t>(slot)] = true;
      }
    }
  }
  std::vector<Step> steps;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) steps.push_back(std::move(program.steps[i]));
  }
  program.steps = std::move(steps);
}

// When each watched value is shown.
void find_shown(Program& program) {
  const auto add = [&](int slot, std::vector<Shown>& list) {
    for (const std::size_t number : program.slots[static_cast<std::size_t>(slot)].watched)
      list.push_back({slot, number});
  };
  for (const int slot : program.inputs) add(slot, program.shown);
  for (std::size_t i = 0; i < program.slots.size(); ++i) {
    if (program.slots[i].is_constant) add(static_cast<int>(i), program.shown);
  }
  program.watched = !program.shown.empty();
  for (Step& step : program.steps) {
    for (const int slot : step.outputs) {
      if (slot >= 0) add(slot, step.shown);
    }
    program.watched = program.watched || !step.shown.empty() || watches(step);
  }
}

void find_lifetimes(Program& program) {
  const auto count = static_cast<int>(program.steps.size());
  for (Slot& slot : program.slots) slot.last_use = -1;
  for (int i = 0; i < count; ++i) {
    const Step& step = program.steps[static_cast<std::size_t>(i)];
    for (const auto* list : {&step.inputs, &step.captured, &step.outputs}) {
      for (const int slot : *list) {
        if (slot >= 0) program.slots[static_cast<std::size_t>(slot)].last_use = i;
      }
    }
  }
  for (const int slot : program.outputs) {
    program.slots[static_cast<std::size_t>(slot)].last_use = count;
    program.slots[static_cast<std::size_t>(slot)].escapes = true;
  }
  for (std::size_t i = 0; i < program.slots.size(); ++i) {
    const Slot& slot = program.slots[i];
    if (slot.last_use >= 0 && slot.last_use < count && !slot.is_constant) {
      program.steps[static_cast<std::size_t>(slot.last_use)].released.push_back(static_cast<int>(i));
    }
  }
}

// Numbers of 8 bits change their layout before they become floats, which are four times as large.
void choose_layouts(Program& program) {
  std::vector<bool> as_it_is(program.slots.size());  // somebody takes it in any layout
  for (const Step& step : program.steps) {
    if (step.descriptor->layouts != ops::Layouts::each) continue;
    for (const int slot : step.inputs) {
      if (slot >= 0) as_it_is[static_cast<std::size_t>(slot)] = true;
    }
  }
  for (Step& step : program.steps) {
    step.plain_inputs = step.descriptor->name == "DequantizeLinear" && step.outputs.front() >= 0 &&
                        !as_it_is[static_cast<std::size_t>(step.outputs.front())];
  }
}

Result<void> Builder::finish(Program& program) {
  const bool runs = options_.purpose == Purpose::run;
  const Resources resources{memory_, pool_, &budget_};
  drop_unused(program);
  fold_constants(program, resources, runs ? Fold::all_but_weights : Fold::small);
  if (options_.fuse) TRY(fuse(program, resources, options_.purpose));
  fold_constants(program, resources, runs ? Fold::all : Fold::small);
  drop_unused(program);
  find_lifetimes(program);
  if (!runs) return {};
  find_shown(program);
  choose_layouts(program);
  return prepare_steps(program, *memory_);
}

}  // namespace

Result<std::unique_ptr<Program>> build(const graph::Model& model, const std::shared_ptr<ops::Memory>& memory,
                                       ThreadPool& pool, const BuildOptions& options) {
  Builder builder(model, memory, pool, options);
  auto program = TRY(builder.graph(*model.graph, nullptr, model.opsets, 0));
  TRY(builder.check_watched());
  return program;
}

}  // namespace anybit::runtime
