// The fused view of a model, for generators that want little work: functions are inlined, constants folded,
// quantized operators are integer operators, and every shape is static.
#include <algorithm>

#include "base/thread_pool.hpp"
#include "base/try.hpp"
#include "codegen/fix_neurons.hpp"
#include "codegen/plain_rounding.hpp"
#include "codegen/quantization.hpp"
#include "codegen/store.hpp"
#include "codegen/view.hpp"
#include "graph/index.hpp"
#include "graph/names.hpp"
#include "graph/node.hpp"
#include "ops/infer.hpp"
#include "runtime/build.hpp"

namespace anybit::codegen {
namespace {

using runtime::Program;
using runtime::Step;

std::string place_of_input(const graph::ValueInfo& input) {
  return fmt::format("input '{}'", shown(input.name.str()));
}

// Inputs with a default become constants: generated code has no optional inputs.
void take_defaults(graph::Graph& graph) {
  std::unordered_set<std::string_view> held;
  for (const graph::Tensor& one : graph.initializers) held.insert(one.name.str());
  std::erase_if(graph.inputs, [&](const graph::ValueInfo& one) { return held.count(one.name.str()) != 0; });
}

Result<void> check_fixed(const graph::ValueInfo& input, const ops::Value& value) {
  std::vector<std::int64_t> example;
  for (const ops::Dim& dim : value.shape.value_or(ops::Shape{1, 3, 224, 224}))
    example.push_back(dim.size.value_or(1));
  const std::string hint =
      fmt::format("give its shape, as in --shape {}={}", shown(input.name.str()), fmt::join(example, ","));
  if (!value.shape)
    return error_at(Code::invalid_argument, place_of_input(input), "the model does not state its shape",
                    hint);
  for (std::size_t i = 0; i < value.shape->size(); ++i) {
    const ops::Dim& dim = (*value.shape)[i];
    if (!dim.known()) {
      const std::string name = dim.symbol.empty() ? "" : fmt::format(" ('{}')", shown(dim.symbol));
      return error_at(Code::invalid_argument, place_of_input(input),
                      fmt::format("dimension {}{} is open", i, name), hint);
    }
    if (*dim.size < 0)
      return error_at(Code::invalid_argument, place_of_input(input),
                      fmt::format("dimension {} is {}", i, *dim.size), "a size is at least 0");
  }
  return {};
}

// Which of Inference::graphs run in every run: the main graph, and branches whose alternative is ruled out.
std::vector<bool> entered_always(const ops::Inference& inference) {
  std::unordered_map<const graph::Graph*, std::size_t> numbers;
  for (std::size_t i = 0; i < inference.graphs.size(); ++i) numbers.emplace(inference.graphs[i].graph, i);
  std::vector<std::pair<std::size_t, std::size_t>> taken;  // a branch, and the enclosing graph
  for (const ops::NodeFacts& facts : inference.nodes) {
    if (!graph::is(*facts.node, "If")) continue;
    std::vector<std::size_t> left;
    std::size_t branches = 0;
    graph::each_graph(*facts.node, [&](const graph::Graph& branch) {
      ++branches;
      const auto found = numbers.find(&branch);
      if (found != numbers.end() && !inference.graphs[found->second].ruled_out) left.push_back(found->second);
    });
    if (branches == 2 && left.size() == 1) taken.emplace_back(left[0], facts.graph);
  }
  std::ranges::sort(taken);  // enclosing graphs come first
  std::vector<bool> always(inference.graphs.size());
  if (!always.empty()) always[0] = true;
  for (const auto& [branch, around] : taken) always[branch] = always[around];
  return always;
}

// Rejects nodes that cannot run before passes may remove them: malformed nodes anywhere, and nodes that fail
// with these shapes outside of branches that may never be taken.
Result<void> check_all_run(const ops::Inference& inference) {
  TRY(ops::check_nodes(inference));
  const std::vector<bool> always = entered_always(inference);
  for (const ops::NodeFacts& facts : inference.nodes) {
    const std::string& why = facts.problem.empty() ? facts.refusal : facts.problem;
    if (always[facts.graph] && !why.empty())
      return ops::wrong(why).within(
          fmt::format("node '{}' ({})", shown(facts.node->name.str()), shown(facts.node->op_type.str())));
  }
  return {};
}

// Makes every dimension of every input static, in the model itself.
Result<void> fix_shapes(graph::Model& model, const InputShapes& shapes, const Limits& limits) {
  const ops::Inference inference =
      TRY(ops::infer(model, {.input_shapes = shapes, .dims = {}, .limits = limits}));
  TRY(check_all_run(inference));
  const ops::Values& inputs = inference.inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    graph::ValueInfo& input = model.graph->inputs[i];
    const graph::TensorType* type = input.type ? input.type->tensor() : nullptr;
    if (!type) return error_at(Code::unsupported, place_of_input(input), "it is no tensor");
    TRY(check_fixed(input, inputs[i]));
    graph::TensorType fixed = *type;
    fixed.shape.emplace();
    for (const ops::Dim& dim : *inputs[i].shape) fixed.shape->dims.emplace_back().value = *dim.size;
    input.type->kind = std::move(fixed);
  }
  return {};
}

// A branch that is never taken may have no valid shapes for these inputs. The advice is to make its condition
// a constant.
Error with_advice(Error error, const graph::Graph& graph) {
  if (!error.hint.empty()) return error;
  const bool branches =
      std::ranges::any_of(graph.nodes, [](const graph::Node& one) { return one.op_type.str() == "If"; });
  for (const graph::ValueInfo& input : graph.inputs) {
    const graph::TensorType* type = input.type ? input.type->tensor() : nullptr;
    if (!branches || !type || !type->shape || !type->shape->dims.empty()) continue;
    error.hint = fmt::format("if input '{0}' chooses a branch, give its value, as in --constant {0}=1",
                             shown(input.name.str()));
    break;
  }
  return error;
}

class FusedView final : public View {
 public:
  FusedView() : pool_(1), memory_(ops::Memory::make(0)) {}

  Result<void> make(const Source& source, const InputShapes& shapes) {
    model_ = source.model;
    most_elements_ = source.limits.elements;
    take_defaults(*model_.graph);
    TRY(fix_shapes(model_, shapes, source.limits));
    TRY(replace_fix_neurons(model_, source.limits));
    inline_rounding(model_);
    program_ = TRY(runtime::build(model_, memory_, pool_,
                                  {.purpose = runtime::Purpose::generate, .limits = source.limits}));
    shapes_.emplace(TRY(Shapes::of(*program_, source.limits)));
    view_.path = store_.text(source.path);
    view_.name = store_.text(model_.graph->name.str());
    view_.hash = store_.text(source.hash);
    view_.graph = TRY(graph(*program_, {}, &*model_.graph));
    return {};
  }

 private:
  // `around`: numbers of the slots of the enclosing program. `declared`: the main graph, whose outputs have
  // names that callers know.
  Result<const anybit_graph*> graph(const Program& program, const std::vector<int>& around,
                                    const graph::Graph* declared);
  Result<const anybit_graph*> graph_inside(const Step& step, const Step::Inner& inner,
                                           const std::vector<int>& around);
  const anybit_graph* failing_graph(const Program& other, const Error& why);
  Result<void> check(const Program& program, int slot, const std::string& place) const;
  Result<anybit_node> node(const Step& step, const std::vector<int>& numbers);

  graph::Model model_;
  ThreadPool pool_;
  std::shared_ptr<ops::Memory> memory_;
  std::unique_ptr<Program> program_;
  std::optional<Shapes> shapes_;
  std::int64_t most_elements_ = 0;  // per value
  Store store_;
};

// Slots that are used or produced become values, in their order.
std::vector<int> numbers_of(const Program& program) {
  std::vector<bool> used(program.slots.size());
  const auto use = [&](const std::vector<int>& slots) {
    for (const int slot : slots) {
      if (slot >= 0) used[static_cast<std::size_t>(slot)] = true;
    }
  };
  use(program.inputs);
  use(program.outputs);
  for (const Program::Capture& one : program.captures) use({one.inner});
  for (const Step& step : program.steps) {
    use(step.inputs);
    use(step.outputs);
    use(step.captured);
  }
  std::vector<int> numbers(used.size(), -1);
  int next = 0;
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i]) numbers[i] = next++;
  }
  return numbers;
}

std::vector<std::int32_t> numbered(const std::vector<int>& slots, const std::vector<int>& numbers) {
  std::vector<std::int32_t> list;
  for (const int slot : slots) list.push_back(slot < 0 ? -1 : numbers[static_cast<std::size_t>(slot)]);
  return list;
}

// Names of slots. Outputs have the graph's names, even if a function named them otherwise.
std::vector<std::string> names_of(const Program& program, const graph::Graph* declared,
                                  const std::vector<int>& numbers) {
  std::vector<std::string> names(program.slots.size());
  graph::Names taken;
  const auto name = [&](int slot, const std::string& wanted) {
    std::string& own = names[static_cast<std::size_t>(slot)];
    if (own.empty()) own = taken.fresh(wanted.empty() ? "value" : wanted);
  };
  for (const int slot : program.inputs) name(slot, program.slots[static_cast<std::size_t>(slot)].name);
  for (std::size_t i = 0; declared && i < program.outputs.size(); ++i)
    name(program.outputs[i], declared->outputs[i].name.str());
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (numbers[i] >= 0) name(static_cast<int>(i), program.slots[i].name);
  }
  return names;
}

Result<void> FusedView::check(const Program& program, int slot, const std::string& place) const {
  const ops::Value& value = shapes_->in(program)[static_cast<std::size_t>(slot)];
  const std::string& name = program.slots[static_cast<std::size_t>(slot)].name;
  if (value.type == graph::ElementType::undefined)
    return error_at(
        Code::unsupported, place,
        fmt::format("'{}' is no tensor, or one whose type is not known before it runs", shown(name)),
        "code can be generated for tensors alone");
  const auto known = value.shape ? ops::numbers(*value.shape) : std::nullopt;
  if (known) {
    // Zeros count as 1: generators multiply the other dimensions of an empty value, for strides.
    if (ops::has_at_most(*value.shape, most_elements_)) return {};
    return error_at(Code::limit_exceeded, place,
                    fmt::format("'{}' is [{}]: more than {} elements", shown(name),
                                ops::to_string(*value.shape), most_elements_),
                    "a higher --max-elements, if the model is what you expect");
  }
  return error_at(Code::unsupported, place,
                  fmt::format("the shape of '{}' depends on values: it is [{}]", shown(name),
                              value.shape ? ops::to_string(*value.shape) : "…"),
                  "code can be generated where shapes follow from those of the inputs");
}

Result<const anybit_graph*> FusedView::graph_inside(const Step& step, const Step::Inner& inner,
                                                    const std::vector<int>& around) {
  const Error* why = shapes_->why_not(*inner.program);
  if (!why) return graph(*inner.program, around, nullptr);
  const auto other = std::ranges::find_if(step.graphs, [&](const auto& one) { return &one != &inner; });
  return failing_graph(*other->program, *why);
}

// Replaces a branch that cannot run by one node that reports it. Its outputs have the shapes of the other
// branch's.
const anybit_graph* FusedView::failing_graph(const Program& other, const Error& why) {
  std::vector<anybit_value> values;
  std::vector<std::int32_t> outputs;
  for (const int slot : other.outputs) {
    const auto number = static_cast<std::int32_t>(values.size());
    values.push_back(
        store_.value(fmt::format("y{}", number), shapes_->in(other)[static_cast<std::size_t>(slot)]));
    outputs.push_back(number);
  }
  anybit_attribute reason{};
  reason.name = store_.text("reason");
  reason.kind = ANYBIT_ATTRIBUTE_TEXT;
  reason.count = 1;
  reason.texts = store_.list(std::vector{store_.text(why.place + ": " + why.message)});
  anybit_node fail{};
  fail.name = store_.text("");
  fail.op = store_.text("Fail");
  fail.domain = store_.text(graph::kAnybit);
  fail.version = 1;
  fail.output_count = outputs.size();
  fail.attribute_count = 1;
  fail.outputs = store_.list(std::move(outputs));
  fail.attributes = store_.list(std::vector{reason});
  anybit_graph graph{};
  graph.value_count = graph.output_count = values.size();
  graph.node_count = 1;
  graph.values = store_.list(std::move(values));
  graph.nodes = store_.list(std::vector{fail});
  graph.outputs = fail.outputs;
  return store_.list(std::vector{graph});
}

Result<anybit_node> FusedView::node(const Step& step, const std::vector<int>& numbers) {
  std::vector<anybit_attribute> attributes;
  for (const graph::Attribute& one : step.node->attributes) {
    const auto inner = std::ranges::find(step.graphs, one.name.str(), &Step::Inner::attribute);
    const anybit_graph* graph =
        inner == step.graphs.end() ? nullptr : TRY(graph_inside(step, *inner, numbers));
    attributes.push_back(store_.attribute(one, graph));
  }
  anybit_node result{};
  result.name = store_.text(step.node->name.str());
  result.op = store_.text(step.descriptor->name);
  result.domain = store_.text(step.descriptor->domain);
  result.version = step.version;
  result.input_count = step.inputs.size();
  result.output_count = step.outputs.size();
  result.attribute_count = attributes.size();
  result.inputs = store_.list(numbered(step.inputs, numbers));
  result.outputs = store_.list(numbered(step.outputs, numbers));
  result.attributes = store_.list(std::move(attributes));
  return result;
}

Result<const anybit_graph*> FusedView::graph(const Program& program, const std::vector<int>& around,
                                             const graph::Graph* declared) {
  const std::vector<int> numbers = numbers_of(program);
  const std::vector<std::string> names = names_of(program, declared, numbers);
  const ops::Values& known = shapes_->in(program);
  auto quantization = quantization_of(program, known);
  std::vector<anybit_value> values;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] < 0) continue;
    const runtime::Slot& slot = program.slots[i];
    const bool constant = slot.is_constant && slot.value.is_array();
    anybit_value& value = values.emplace_back(constant ? store_.value(names[i], slot.value.array)
                                                       : store_.value(names[i], known[i]));
    if (!quantization[i]) continue;
    value.axis = quantization[i]->axis;
    value.scale_count = quantization[i]->scales.size();
    value.scales = store_.list(std::move(quantization[i]->scales));
    if (!quantization[i]->zero_points.empty())
      value.zero_points = store_.list(std::move(quantization[i]->zero_points));
  }
  std::vector<anybit_node> nodes;
  for (const Step& step : program.steps) {
    for (const int slot : step.outputs) {
      if (slot >= 0) TRY(check(program, slot, step.place));
    }
    nodes.push_back(TRY(node(step, numbers)));
  }
  std::vector<std::int32_t> outer, inner;
  for (const Program::Capture& one : program.captures) {
    outer.push_back(around[static_cast<std::size_t>(one.outer)]);
    inner.push_back(numbers[static_cast<std::size_t>(one.inner)]);
  }
  anybit_graph result{};
  result.value_count = values.size();
  result.node_count = nodes.size();
  result.input_count = program.inputs.size();
  result.output_count = program.outputs.size();
  result.capture_count = program.captures.size();
  result.values = store_.list(std::move(values));
  result.nodes = store_.list(std::move(nodes));
  result.inputs = store_.list(numbered(program.inputs, numbers));
  result.outputs = store_.list(numbered(program.outputs, numbers));
  result.capture_outer = store_.list(std::move(outer));
  result.capture_inner = store_.list(std::move(inner));
  return store_.list(std::vector{result});
}

}  // namespace

Result<std::unique_ptr<View>> fused_view(const Source& source, const InputShapes& shapes) {
  auto view = std::make_unique<FusedView>();
  auto made = view->make(source, shapes);
  if (!made.ok()) return with_advice(std::move(made).error(), *source.model.graph);
  return std::unique_ptr<View>(std::move(view));
}

}  // namespace anybit::codegen
