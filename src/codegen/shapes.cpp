#include "codegen/shapes.hpp"

#include <algorithm>
#include <deque>
#include <map>

#include "ops/check.hpp"
#include "ops/dims.hpp"

namespace anybit::codegen {

using ops::Value;
using ops::Values;
using runtime::Program;
using runtime::Step;

class ShapeWalker {
 public:
  explicit ShapeWalker(Shapes& shapes) : shapes_(shapes) {}

  ops::Body walk(const Program& program, const Values& inputs, const Values* outer);
  // A branch that is not to be looked into, for these problems of its own.
  void leave_out(const Program& branch, std::size_t first_problem, std::size_t last_problem);
  std::vector<Error> problems;

 private:
  friend class StepCall;
  void infer(const Program& program, const Step& step, Values& values);
  Value constant(const ops::Array& array);

  Shapes& shapes_;
  std::deque<graph::Tensor> constants_;  // that values point to
};

namespace {

std::size_t at(int slot) { return static_cast<std::size_t>(slot); }

}  // namespace

// A step that is asked for its outputs.
class StepCall final : public ops::Call {
 public:
  StepCall(ShapeWalker& walker, const Step& step, const Values& around)
      : Call(*step.node), walker_(walker), step_(step), around_(around) {
    version = step.version;
  }

  const graph::Attribute* find(std::string_view name) const override { return node.attribute(name); }

  Result<ops::Body> enter(const graph::Graph& graph, const Values& given,
                          std::string_view which) const override {
    const auto [before, fresh] = entered_.emplace(which, walker_.problems.size());
    if (!fresh) walker_.problems.erase(walker_.problems.begin() + before->second, walker_.problems.end());
    for (const Step::Inner& inner : step_.graphs) {
      const graph::Attribute* attribute = node.attribute(inner.attribute);
      const auto* box = attribute ? std::get_if<graph::GraphBox>(&attribute->value) : nullptr;
      if (!box || &**box != &graph) continue;
      const ops::Body body = walker_.walk(*inner.program, declared(graph, given), &around_);
      if (body.last_problem > body.first_problem)
        failing_.push_back({inner.program.get(), body.first_problem, body.last_problem});
      return body;
    }
    return ops::wrong("a graph is missing");
  }

  // One branch of an If that cannot run, while the other can, is no problem before it is chosen.
  void leave_out_branch() const {
    if (step_.descriptor->name != "If" || one_is_chosen_ || failing_.size() != 1) return;
    walker_.leave_out(*failing_.front().program, failing_.front().first, failing_.front().last);
  }

  void repeat(const ops::Body&, const ops::Dim&) const override {}
  void rule_out(const ops::Body& body) const override {
    one_is_chosen_ = true;
    auto& problems = walker_.problems;
    problems.erase(problems.begin() + static_cast<std::ptrdiff_t>(body.first_problem),
                   problems.begin() + static_cast<std::ptrdiff_t>(body.last_problem));
  }
  std::int64_t work(const ops::Body&) const override { return 0; }

 private:
  // What the node does not tell, the graph may.
  static Values declared(const graph::Graph& graph, Values given) {
    given.resize(graph.inputs.size());
    for (std::size_t i = 0; i < given.size(); ++i) {
      const auto& type = graph.inputs[i].type;
      const graph::TensorType* tensor = type ? type->tensor() : nullptr;
      if (!tensor) continue;
      if (given[i].type == ops::ElementType::undefined) given[i].type = tensor->element_type();
      if (given[i].shape || !tensor->shape) continue;
      given[i].shape.emplace();
      for (const graph::Dimension& dim : tensor->shape->dims)
        given[i].shape->push_back(dim.known() ? ops::Dim(dim.size()) : ops::Dim());
    }
    return given;
  }

  ShapeWalker& walker_;
  const Step& step_;
  const Values& around_;
  mutable std::map<std::string, std::ptrdiff_t, std::less<>> entered_;  // problems that were there before
  struct Failing {
    const Program* program;
    std::size_t first, last;  // its problems
  };
  mutable std::vector<Failing> failing_;
  mutable bool one_is_chosen_ = false;
};

Value ShapeWalker::constant(const ops::Array& array) {
  // The contents of large ones tell nothing about shapes, and would be copied.
  if (array.count() <= ops::kFollowed) return ops::value_of(constants_.emplace_back(array.to_constant()));
  return ops::tensor(array.type(), ops::Shape(array.dims().begin(), array.dims().end()));
}

void ShapeWalker::infer(const Program& program, const Step& step, Values& values) {
  static const Value left_out;
  std::vector<const Value*> inputs;
  std::vector<const ops::Array*> contents;
  for (const int slot : step.inputs) {
    inputs.push_back(slot < 0 ? &left_out : &values[at(slot)]);
    const runtime::Slot* of = slot < 0 ? nullptr : &program.slots[at(slot)];
    contents.push_back(of && of->is_constant && of->value.is_array() ? &of->value.array : nullptr);
  }
  StepCall call(*this, step, values);
  call.inputs = inputs;
  Result<Values> outputs = step.descriptor->infer ? step.descriptor->infer(call) : Values();
  if (outputs.ok()) {
    if (auto checked = ops::check(*step.descriptor, call, contents); !checked.ok())
      outputs = std::move(checked).error();
  }
  if (!outputs.ok()) {
    problems.push_back(std::move(outputs).error().within(step.place));
    return;
  }
  call.leave_out_branch();
  for (std::size_t i = 0; i < step.outputs.size() && i < outputs->size(); ++i) {
    if (step.outputs[i] >= 0) values[at(step.outputs[i])] = std::move((*outputs)[i]);
  }
}

// A graph that is entered again is told anew: the last time counts.
ops::Body ShapeWalker::walk(const Program& program, const Values& inputs, const Values* outer) {
  Values values(program.slots.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const runtime::Slot& slot = program.slots[i];
    if (slot.is_constant && slot.value.is_array()) values[i] = constant(slot.value.array);
  }
  for (std::size_t i = 0; i < program.inputs.size() && i < inputs.size(); ++i)
    values[at(program.inputs[i])] = inputs[i];
  if (outer) {
    for (const Program::Capture& one : program.captures) values[at(one.inner)] = (*outer)[at(one.outer)];
  }
  shapes_.impossible_.erase(&program);
  ops::Body body;
  body.first_problem = problems.size();
  for (const Step& step : program.steps) infer(program, step, values);
  body.last_problem = problems.size();
  for (const int slot : program.outputs) body.outputs.push_back(values[at(slot)]);
  shapes_.values_[&program] = std::move(values);
  return body;
}

void ShapeWalker::leave_out(const Program& branch, std::size_t first_problem, std::size_t last_problem) {
  const auto first = problems.begin() + static_cast<std::ptrdiff_t>(first_problem);
  shapes_.impossible_.emplace(&branch, std::move(*first));
  problems.erase(first, problems.begin() + static_cast<std::ptrdiff_t>(last_problem));
}

Result<Shapes> Shapes::of(const Program& program, const Values& inputs) {
  Shapes shapes;
  ShapeWalker walker(shapes);
  walker.walk(program, inputs, nullptr);
  if (!walker.problems.empty()) return std::move(walker.problems.front());
  // The contents of constants went with the walker.
  for (auto& [of, values] : shapes.values_) {
    for (Value& value : values) value.constant = nullptr;
  }
  return shapes;
}

}  // namespace anybit::codegen
