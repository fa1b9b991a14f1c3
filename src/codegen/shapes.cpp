#include "codegen/shapes.hpp"

#include <deque>

#include "base/try.hpp"
#include "ops/check.hpp"
#include "ops/infer.hpp"
#include "runtime/quantized.hpp"

namespace anybit::codegen {
namespace {

using ops::Value;
using ops::Values;
using runtime::Program;
using runtime::Step;

std::size_t at(int slot) { return static_cast<std::size_t>(slot); }

// Calls an operator's inference or check for a step without inner graphs.
class StepCall final : public ops::Call {
 public:
  StepCall(const Step& step, std::span<const Value* const> given) : Call(*step.node) {
    version = step.version;
    inputs = given;
  }
  const graph::Attribute* find(std::string_view name) const override { return node.attribute(name); }
  Result<ops::Body> enter(const graph::Graph&, const Values&, std::string_view) const override {
    return ops::wrong("a fusion made a node with a graph inside");
  }
  void repeat(const ops::Body&, const ops::Dim&) const override {}
  void rule_out(const ops::Body&) const override {}
  std::int64_t work(const ops::Body&) const override { return 0; }
};

const graph::Graph& graph_of(const Step& step, const Step::Inner& inner) {
  return *std::get<graph::GraphBox>(step.node->attribute(inner.attribute)->value);
}

}  // namespace

class ShapeFinder {
 public:
  ShapeFinder(const ops::Inference& inference, Shapes& shapes) : shapes_(shapes) {
    for (const ops::NodeFacts& one : inference.nodes) nodes_.emplace(one.node, &one);
    for (const ops::GraphFacts& one : inference.graphs) graphs_.emplace(one.graph, &one);
  }

  void find(const Program& program, const graph::Graph& graph, const Values* outer);
  std::vector<Error> problems;

 private:
  Result<Values> outputs_of(const Program& program, const Step& step, const Values& values) const;
  void look_inside(const Step& step, const Values& values);
  Value constant(const ops::Array& array);

  Shapes& shapes_;
  std::unordered_map<const graph::Node*, const ops::NodeFacts*> nodes_;
  std::unordered_map<const graph::Graph*, const ops::GraphFacts*> graphs_;
  std::deque<graph::Tensor> constants_;  // pointed to by values
};

Value ShapeFinder::constant(const ops::Array& array) {
  // The contents of large constants do not affect shapes, and would be copied.
  if (array.count() <= ops::kFollowed) return ops::value_of(constants_.emplace_back(array.to_constant()));
  return ops::tensor(array.type(), ops::Shape(array.dims().begin(), array.dims().end()));
}

// The inferred outputs of the step's node; for a node made by a fusion, the operator's own inference. Both
// are checked with the contents of all constants; inference looks only at small ones.
Result<Values> ShapeFinder::outputs_of(const Program& program, const Step& step, const Values& values) const {
  static const Value left_out;
  std::vector<const Value*> inputs;
  std::vector<const ops::Array*> contents;
  for (const int slot : step.inputs) {
    inputs.push_back(slot < 0 ? &left_out : &values[at(slot)]);
    contents.push_back(runtime::constant_in(program, slot));
  }
  const StepCall call(step, inputs);
  Values outputs;
  if (const auto inferred = nodes_.find(step.node); inferred != nodes_.end()) {
    if (inferred->second->error) return *inferred->second->error;
    outputs = inferred->second->outputs;
  } else if (step.descriptor->infer) {
    auto made = step.descriptor->infer(call);
    if (!made.ok()) return std::move(made).error().within(step.place);
    outputs = std::move(made).value();
  }
  auto checked = ops::check(*step.descriptor, call, contents);
  if (!checked.ok()) return std::move(checked).error().within(step.place);
  return outputs;
}

// If one branch of an If cannot run but the other can, that is an error only when the branch is taken.
void ShapeFinder::look_inside(const Step& step, const Values& values) {
  const auto first_problem = std::ssize(problems);
  const Program* failing = nullptr;
  const auto inferred = nodes_.find(step.node);
  bool one_may_fail = step.descriptor->name == "If" && inferred != nodes_.end() && !inferred->second->error;
  for (const Step::Inner& inner : step.graphs) {
    const graph::Graph& graph = graph_of(step, inner);
    const auto before = std::ssize(problems);
    find(*inner.program, graph, &values);
    const auto facts = graphs_.find(&graph);
    if (facts != graphs_.end() && facts->second->ruled_out) {
      problems.erase(problems.begin() + before, problems.end());
      one_may_fail = false;
    }
    if (std::ssize(problems) == before) continue;
    one_may_fail = one_may_fail && !failing;
    failing = inner.program.get();
  }
  if (!failing || !one_may_fail) return;
  const auto first = problems.begin() + first_problem;
  shapes_.impossible_.emplace(failing, std::move(*first));
  problems.erase(first, problems.end());
}

void ShapeFinder::find(const Program& program, const graph::Graph& graph, const Values* outer) {
  Values values(program.slots.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (const ops::Array* held = runtime::constant_in(program, static_cast<int>(i)))
      values[i] = constant(*held);
  }
  if (const auto facts = graphs_.find(&graph); facts != graphs_.end()) {
    for (std::size_t i = 0; i < program.inputs.size(); ++i)
      values[at(program.inputs[i])] = *facts->second->inputs[i];
  }
  if (outer) {
    for (const Program::Capture& one : program.captures) values[at(one.inner)] = (*outer)[at(one.outer)];
  }
  for (const Step& step : program.steps) {
    look_inside(step, values);
    Result<Values> outputs = outputs_of(program, step, values);
    if (!outputs.ok()) {
      problems.push_back(std::move(outputs).error());
      continue;
    }
    for (std::size_t i = 0; i < step.outputs.size() && i < outputs->size(); ++i) {
      if (step.outputs[i] >= 0) values[at(step.outputs[i])] = std::move((*outputs)[i]);
    }
  }
  shapes_.values_[&program] = std::move(values);
}

Result<Shapes> Shapes::of(const Program& program, const Limits& limits) {
  // Buffers are sized by these shapes, so the file's own value_info is not trusted.
  const ops::Inference inference = TRY(
      ops::infer(*program.model, {.input_shapes = {}, .dims = {}, .limits = limits, .value_info = false}));
  Shapes shapes;
  ShapeFinder finder(inference, shapes);
  finder.find(program, *program.model->graph, nullptr);
  if (!finder.problems.empty()) return std::move(finder.problems.front());
  // The contents of constants are freed with the finder.
  for (auto& [of, values] : shapes.values_) {
    for (Value& value : values) value.constant = nullptr;
  }
  return shapes;
}

}  // namespace anybit::codegen
