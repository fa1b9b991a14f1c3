// Builds a program: names become slots, operators are looked up, nodes are fused, constants are folded, and
// unused steps are dropped.
#include "runtime/build.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ops/conv/conv_blocked.hpp"
#include "ops/frame.hpp"
#include "runtime/constants.hpp"
#include "runtime/edit.hpp"
#include "runtime/fuse.hpp"
#include "runtime/operators.hpp"
#include "runtime/prepare.hpp"
#include "runtime/prepare_step.hpp"
#include "runtime/quantized.hpp"
#include "runtime/variables.hpp"

namespace anybit::runtime {
namespace {

using graph::Graph;
using graph::Node;
using ops::Array;

constexpr std::size_t kDepth = 200;

// The names visible to nodes, and the program that owns the slots behind them.
struct Scope {
  Program& program;
  Scope* parent = nullptr;
  std::unordered_map<std::string, int> names = {};

  // -1 if there is none. A value of an enclosing program is captured.
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
      slot.is_variable = above.is_variable;
      slot.type = above.is_variable ? above.type : slot.type;
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

class Builder {
 public:
  Builder(const graph::Model& model, std::shared_ptr<ops::Memory> memory, ThreadPool& pool,
          const BuildOptions& options, graph::Budget& budget)
      : memory_(std::move(memory)),
        pool_(pool),
        options_(options),
        budget_(budget),
        operators_(model, options.limits) {
    for (std::size_t i = 0; i < options.watch.size(); ++i) watched_.emplace(options.watch[i], i);
    for (std::size_t i = 0; i < options.variables.size(); ++i) variables_.emplace(options.variables[i], i);
  }

  Result<std::unique_ptr<Program>> graph(const Graph& graph, Scope* outer, std::size_t depth) {
    if (depth > kDepth) return ops::wrong("graphs are nested too deeply");
    auto program = std::make_unique<Program>();
    Scope scope{*program, outer};
    TRY(add_inputs(graph, scope, outer == nullptr));
    TRY(add_nodes(graph.nodes, scope, depth));
    for (const graph::ValueInfo& output : graph.outputs) {
      const int slot = scope.find(output.name.str());
      if (slot < 0) return invalid_model({}, fmt::format("output '{}' is not produced", output.name.str()));
      program->outputs.push_back(slot);
    }
    TRY(finish(*program));
    return program;
  }

  // Every watched name must have been found in the model.
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
  // Records the slot of an input that preparation made from a variable.
  bool is_variable(const std::string& name, int slot, Program& program) const {
    const auto found = variables_.find(name);
    if (found == variables_.end()) return false;
    const bool updated = std::ranges::find(options_.updated, name) != options_.updated.end();
    program.variables[found->second] = {slot, updated};
    return true;
  }

  // Adds the slot to the watched values if its name is watched.
  void watch(const std::string& name, int slot, Program& program) {
    const auto found = watched_.find(name);
    if (found == watched_.end() || slot < 0) return;
    auto& numbers = program.slots[static_cast<std::size_t>(slot)].watched;
    if (std::ranges::find(numbers, found->second) == numbers.end()) numbers.push_back(found->second);
    met_.insert(name);
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
    if (outermost) scope.program.variables.resize(options_.variables.size());
    for (const graph::ValueInfo& input : graph.inputs) {
      const int slot = scope.add(input.name.str());
      if (outermost && is_variable(input.name.str(), slot, scope.program)) {
        scope.program.slots.back().is_variable = true;
      } else {
        scope.program.inputs.push_back(slot);
      }
      // Inputs of graphs inside nodes are not checked at run time.
      const graph::TensorType* tensor = outermost && input.type ? input.type->tensor() : nullptr;
      if (tensor && tensor->element) scope.program.slots.back().type = tensor->element_type();
      watch(input.name.str(), slot, scope.program);
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

  Result<void> add_nodes(const std::vector<Node>& nodes, Scope& scope, std::size_t depth) {
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      Result<void> added = add_operator(nodes[i], graph::place_of(nodes[i], i), scope, depth);
      if (!added.ok()) return std::move(added).error().within(graph::place_of(nodes[i], i));
    }
    return {};
  }

  Result<void> add_operator(const Node& node, std::string place, Scope& scope, std::size_t depth) {
    const Operator found = TRY(operators_.of(node));
    // Added before the graphs inside later nodes are built, so that values computed from it there are
    // constant too.
    if (const graph::Tensor* held = held_by(node))
      return add_constant(scope, node.outputs[0], TRY(Array::from(*held, *memory_)), true);
    Step step;
    step.node = &node;
    step.descriptor = found.descriptor;
    step.version = found.version;
    step.place = std::move(place);
    for (const std::string& name : node.inputs) step.inputs.push_back(name.empty() ? -1 : scope.find(name));
    TRY(add_graphs(node, step, scope, depth));
    for (const std::string& name : node.outputs) {
      step.outputs.push_back(name.empty() ? -1 : scope.add(name));
      watch(name, step.outputs.back(), scope.program);
    }
    scope.program.steps.push_back(std::move(step));
    return {};
  }

  // The tensor of a Constant node; null for other nodes.
  static const graph::Tensor* held_by(const Node& node) {
    const bool constant =
        node.op_type.str() == "Constant" && graph::canonical_domain(node.domain.str()).empty();
    const graph::Attribute* value = constant && node.outputs.size() == 1 ? node.attribute("value") : nullptr;
    return value && !node.outputs[0].empty() ? std::get_if<graph::Tensor>(&value->value) : nullptr;
  }

  Result<void> add_graphs(const Node& node, Step& step, Scope& scope, std::size_t depth) {
    for (const graph::Attribute& one : node.attributes) {
      const auto* inner = std::get_if<graph::GraphBox>(&one.value);
      if (!inner) continue;
      auto program = graph(**inner, &scope, depth + 1);
      if (!program.ok()) return std::move(program).error().within(one.name.str());
      for (const Program::Capture& capture : (*program)->captures) step.captured.push_back(capture.outer);
      step.graphs.push_back({one.name.str(), std::move(program).value()});
    }
    return {};
  }

  Result<Array> dense(const graph::SparseTensor& sparse);
  Result<void> finish(Program& program);

  std::shared_ptr<ops::Memory> memory_;
  ThreadPool& pool_;
  const BuildOptions& options_;
  graph::Budget& budget_;
  const Operators operators_;
  std::unordered_map<std::string, std::size_t> watched_;    // numbers in BuildOptions::watch
  std::unordered_map<std::string, std::size_t> variables_;  // numbers in BuildOptions::variables
  std::unordered_set<std::string> met_;                     // watched names that the model has
};

// Indices are linear, or one row of coordinates per value.
Result<Array> Builder::dense(const graph::SparseTensor& sparse) {
  const Array values = TRY(Array::from(*sparse.values, *memory_));
  const Array indices = TRY(Array::from(*sparse.indices, *memory_));
  const ops::Dims dims{std::span(sparse.dims)};
  const std::int64_t bytes = TRY(ops::array_bytes(values.type(), dims, ops::Layout::plain));
  if (!budget_.take_bytes(bytes)) {
    return error_at(Code::limit_exceeded, {}, fmt::format("it takes {} bytes as a dense tensor", bytes),
                    "a higher --max-work-bytes, if the model is what you expect");
  }
  Array result = TRY(Array::make(*memory_, values.type(), dims));
  const ops::Dims strides = ops::strides_of(dims);
  const std::size_t columns = indices.rank() == 2 ? dims.size() : 1;
  bool inside = true;
  ops::for_copied(values.type(), [&]<class T>(T) {
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

// Whether a graph inside the step has watched values.
bool watches(const Step& step) {
  return std::ranges::any_of(step.graphs, [](const Step::Inner& one) { return one.program->watched; });
}

// Drops steps whose outputs are unused, from the last to the first.
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

// Decides when each watched value is shown.
void find_shown(Program& program) {
  const auto add = [&](int slot, std::vector<Shown>& list) {
    for (const std::size_t number : program.slots[static_cast<std::size_t>(slot)].watched)
      list.push_back({slot, number});
  };
  for (const int slot : program.inputs) add(slot, program.shown);
  for (const Program::Variable& one : program.variables) add(one.slot, program.shown);
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

// Marks convolutions whose results nobody takes in another layout than the plain one.
void want_plain(Program& program, const std::vector<bool>& as_it_is) {
  for (Step& step : program.steps) {
    const bool conv = is(step, "Conv") || is(step, "FusedConv", ops::kMicrosoft);
    if (!conv || step.outputs[0] < 0 || as_it_is[static_cast<std::size_t>(step.outputs[0])]) continue;
    program.made.push_back(*step.node);
    set_attribute(program.made.back(), ops::kPlainResult, std::int64_t{1});
    step.node = &program.made.back();
  }
}

// 8-bit values are converted to plain layout before DequantizeLinear makes floats of them, which are four
// times as large.
void choose_layouts(Program& program) {
  std::vector<bool> as_it_is(program.slots.size());  // a consumer takes it in any layout
  for (const Step& step : program.steps) {
    if (step.descriptor->layouts != ops::Layouts::each) continue;
    for (const int slot : step.inputs) {
      if (slot >= 0) as_it_is[static_cast<std::size_t>(slot)] = true;
    }
  }
  for (Step& step : program.steps) {
    step.plain_inputs = dequantizes(step) && step.outputs.front() >= 0 &&
                        !as_it_is[static_cast<std::size_t>(step.outputs.front())];
  }
  want_plain(program, as_it_is);
}

Result<void> Builder::finish(Program& program) {
  const bool runs = options_.purpose == Purpose::run;
  const Resources resources{memory_, pool_, &budget_};
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
  graph::Budget budget(model, options.limits);
  auto ready = std::make_shared<const graph::Model>(TRY(prepared(model, options, budget, memory)));
  Builder builder(*ready, memory, pool, options, budget);
  auto program = TRY(builder.graph(*ready->graph, nullptr, 0));
  program->model = std::move(ready);
  TRY(builder.check_watched());
  find_steps_of_variables(*program);
  return program;
}

}  // namespace anybit::runtime
