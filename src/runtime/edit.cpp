#include "runtime/edit.hpp"

#include "graph/node.hpp"
#include "runtime/quantized.hpp"

namespace anybit::runtime {

bool is(const Step& step, std::string_view name, std::string_view domain) {
  return step.descriptor && step.descriptor->name == name && step.descriptor->domain == domain;
}

bool casts_to(const Step& step, ops::ElementType type) {
  return is(step, "Cast") &&
         graph::attribute_or(*step.node, "to", std::int64_t{0}) == static_cast<std::int64_t>(type);
}

graph::Node cast_through(const graph::Node& cast, ops::ElementType type) {
  graph::Node node = graph::as_operator(cast, "CastThrough", graph::kAnybit);
  set_attribute(node, "through", static_cast<std::int64_t>(type));
  set_attribute(node, "to", static_cast<std::int64_t>(ops::ElementType::float32));
  return node;
}

Edit::Edit(Program& program)
    : program_(program),
      producer_(program.slots.size(), -1),
      consumers_(program.slots.size()),
      count_(program.slots.size()),
      attached_(program.steps.size()),
      removed_(program.steps.size()) {
  for (std::size_t i = 0; i < program_.steps.size(); ++i) attach(i);
  const auto keep = [&](std::size_t slot) {
    consumers_[slot].push_back({-1, 0});
    ++count_[slot];
  };
  for (const int slot : program_.outputs) keep(static_cast<std::size_t>(slot));
  for (std::size_t i = 0; i < program_.slots.size(); ++i) {
    if (!program_.slots[i].watched.empty()) keep(i);
  }
}

void Edit::attach(std::size_t index) {
  const Step& step = program_.steps[index];
  for (const auto* list : {&step.inputs, &step.captured}) {
    for (const int slot : *list) {
      if (slot < 0) continue;
      consumers_[static_cast<std::size_t>(slot)].push_back({static_cast<int>(index), attached_[index]});
      ++count_[static_cast<std::size_t>(slot)];
    }
  }
  for (const int slot : step.outputs) {
    if (slot >= 0) producer_[static_cast<std::size_t>(slot)] = static_cast<int>(index);
  }
}

void Edit::detach(std::size_t index) {
  const Step& step = program_.steps[index];
  for (const auto* list : {&step.inputs, &step.captured}) {
    for (const int slot : *list) {
      if (slot >= 0) --count_[static_cast<std::size_t>(slot)];
    }
  }
  ++attached_[index];
  for (const int slot : step.outputs) {
    if (slot >= 0) producer_[static_cast<std::size_t>(slot)] = -1;
  }
}

int Edit::producer(int slot) const { return slot < 0 ? -1 : producer_[static_cast<std::size_t>(slot)]; }

const std::vector<Edit::Use>& Edit::uses_of(std::size_t slot) const {
  std::vector<Use>& list = consumers_[slot];
  if (list.size() != static_cast<std::size_t>(count_[slot])) {
    std::erase_if(list, [&](const Use& one) {
      return one.step >= 0 && one.attached != attached_[static_cast<std::size_t>(one.step)];
    });
  }
  return list;
}

std::vector<int> Edit::consumers(int slot) const {
  std::vector<int> steps;
  for (const Use& one : uses_of(static_cast<std::size_t>(slot))) steps.push_back(one.step);
  return steps;
}

int Edit::uses(int slot) const { return slot < 0 ? 0 : count_[static_cast<std::size_t>(slot)]; }

int Edit::only_consumer(int slot) const {
  return uses(slot) == 1 ? uses_of(static_cast<std::size_t>(slot))[0].step : -1;
}

const ops::Array* Edit::constant(int slot) const { return constant_in(program_, slot); }

ops::ElementType Edit::variable_type(int slot) const {
  const Slot& about = program_.slots[static_cast<std::size_t>(slot)];
  return about.is_variable ? about.type : ops::ElementType::undefined;
}

int Edit::add_constant(ops::Array value) {
  program_.slots.push_back({.name = {}, .is_constant = true, .value = std::move(value)});
  producer_.push_back(-1);
  consumers_.emplace_back();
  count_.push_back(0);
  return static_cast<int>(program_.slots.size()) - 1;
}

Result<void> Edit::replace(std::size_t first, std::size_t last, graph::Node node, std::vector<int> inputs) {
  Step& old = program_.steps[last];
  Step step;
  step.descriptor = ops::find(node.domain.str(), node.op_type.str());
  if (!step.descriptor || !step.descriptor->run)
    return ops::wrong(fmt::format("a fusion made '{}', which cannot be run", node.op_type.str()));
  // Nodes made by fusions have the newest version, except those with the operator of the node they replace.
  const Step& origin = program_.steps[first];
  const bool same = origin.descriptor == step.descriptor;
  step.version = same ? origin.version : step.descriptor->since.back();
  step.place = origin.place;
  node.outputs.resize(old.outputs.size(), "");
  for (std::size_t i = 0; i < old.outputs.size(); ++i) node.outputs[i] = old.node->outputs[i];
  node.inputs.resize(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    node.inputs[i] = inputs[i] < 0 ? std::string() : fmt::format("{}", inputs[i]);
  }
  program_.made.push_back(std::move(node));
  step.node = &program_.made.back();
  step.inputs = std::move(inputs);
  step.outputs = old.outputs;
  step.start = origin.start;
  step.finish = old.finish;
  if (first != last) remove(first);
  detach(last);
  program_.steps[last] = std::move(step);
  attach(last);
  return {};
}

Result<void> Edit::replace(std::size_t step, graph::Node node, std::vector<int> inputs) {
  return replace(step, step, std::move(node), std::move(inputs));
}

void Edit::absorb(std::size_t step, std::size_t next) {
  const std::vector<int> outputs = program_.steps[next].outputs;
  remove(next);
  detach(step);
  program_.steps[step].outputs = outputs;
  attach(step);
}

void Edit::remove(std::size_t step) {
  if (removed_[step]) return;
  removed_[step] = true;
  detach(step);
}

void Edit::done() {
  std::vector<Step> steps;
  for (std::size_t i = 0; i < program_.steps.size(); ++i) {
    if (!removed_[i]) steps.push_back(std::move(program_.steps[i]));
  }
  program_.steps = std::move(steps);
}

}  // namespace anybit::runtime
