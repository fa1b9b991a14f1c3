// If, Loop, Scan: nodes that hold graphs. The bodies are inferred with what is known of their inputs; what a
// branch or an iteration might change is unknown after it.
#include <algorithm>

#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Value either(const Value& a, const Value& b) {
  return tensor(a.type == b.type ? a.type : ElementType::undefined, common(a.shape, b.shape));
}

// The first outputs of a body, filled up to what the node has.
Values fitted(Values values, std::size_t count) {
  values.resize(count);
  return values;
}

// The cheaper branch is not counted, nor one that a known condition rules out.
Result<Values> infer_if(const Call& call) {
  const graph::Graph* then_graph = call.graph("then_branch");
  const graph::Graph* else_graph = call.graph("else_branch");
  if (!then_graph || !else_graph) return wrong("If needs the graphs then_branch and else_branch");
  const auto& condition = call.in(0).elements;
  const Dim taken = condition && condition->size() == 1 ? (*condition)[0] : Dim();
  const Body yes = TRY(call.enter(*then_graph, {}, "then_branch"));
  const Body no = TRY(call.enter(*else_graph, {}, "else_branch"));
  const bool first = taken.known() ? !taken.is(0) : call.work(yes) >= call.work(no);
  const Body& other = first ? no : yes;
  call.repeat(other, 0);
  if (taken.known()) {
    call.rule_out(other);
    return fitted(first ? yes.outputs : no.outputs, call.output_count());
  }
  Values values = fitted({}, call.output_count());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i < yes.outputs.size() && i < no.outputs.size()) values[i] = either(yes.outputs[i], no.outputs[i]);
  }
  return values;
}

// Two rounds: what the first iteration changes of a carried value's shape is unknown in the second; whatever
// still differs then is unknown altogether.
Result<Body> settle(const Call& call, const graph::Graph& body, Values& inputs, std::size_t first_carried,
                    std::size_t carried, std::size_t first_output) {
  Body result;
  for (int round = 0; round < 2; ++round) {
    result = TRY(call.enter(body, inputs, "body"));
    bool stable = true;
    for (std::size_t i = 0; i < carried && first_output + i < result.outputs.size(); ++i) {
      Value& before = inputs[first_carried + i];
      const Value merged = either(before, result.outputs[first_output + i]);
      const bool shape_kept = merged.shape.has_value() == before.shape.has_value() &&
                              (!merged.shape || to_string(*merged.shape) == to_string(*before.shape));
      stable = stable && shape_kept && merged.type == before.type;
      before = merged;
    }
    if (stable) return result;
  }
  for (std::size_t i = 0; i < carried && first_output + i < result.outputs.size(); ++i) {
    result.outputs[first_output + i] = inputs[first_carried + i];
  }
  return result;
}

Value stacked(const Value& value, const Dim& count, std::size_t axis = 0) {
  Value result = tensor(value.type, value.shape);
  if (result.shape && axis <= result.shape->size()) {
    result.shape->insert(result.shape->begin() + static_cast<std::ptrdiff_t>(axis), count);
  }
  return result;
}

// Inputs: trip count, condition, carried values. Body: iteration, condition, carried values → condition,
// carried values, values to stack.
Result<Values> infer_loop(const Call& call) {
  const graph::Graph* body = call.graph("body");
  if (!body) return wrong("Loop needs the graph body");
  const auto& limit = call.in(0).elements;
  // A condition, if there is one, may end the loop earlier.
  const bool counted = call.has(0) && limit && limit->size() == 1;
  const Dim trips = counted ? (*limit)[0] : Dim();
  const bool may_stop = call.has(1);
  const std::size_t carried = call.inputs.size() > 2 ? call.inputs.size() - 2 : 0;
  Values inputs{tensor(ElementType::int64, Shape()), tensor(ElementType::boolean, Shape())};
  for (std::size_t i = 0; i < carried; ++i)
    inputs.push_back(tensor(call.in(i + 2).type, call.in(i + 2).shape));
  const Body inside = TRY(settle(call, *body, inputs, 2, carried, 1));
  call.repeat(inside, trips);
  Values values = fitted({}, call.output_count());
  for (std::size_t i = 0; i < values.size() && i + 1 < inside.outputs.size(); ++i) {
    const Value& produced = inside.outputs[i + 1];
    const bool never = trips.is(0);
    values[i] = i >= carried ? stacked(produced, may_stop && !never ? Dim() : trips)
                             : either(inputs[i + 2], produced);
  }
  return values;
}

// Inputs: states, then tensors that are walked along an axis. Version 8 had a batch axis and sequence
// lengths.
Result<Values> infer_scan(const Call& call) {
  const graph::Graph* body = call.graph("body");
  if (!body) return wrong("Scan needs the graph body");
  const auto scanned = call.integer("num_scan_inputs", 0);
  const auto count = static_cast<std::int64_t>(call.inputs.size());
  if (call.version < 9 || scanned < 1 || scanned > count) return unknown_outputs(call);
  const auto states = static_cast<std::size_t>(count - scanned);
  const auto in_axes = call.integers("scan_input_axes");
  const auto out_axes = call.integers("scan_output_axes");
  Values inputs;
  for (std::size_t i = 0; i < states; ++i) inputs.push_back(tensor(call.in(i).type, call.in(i).shape));
  Dim steps;
  for (std::size_t i = states; i < call.inputs.size(); ++i) {
    Value item = tensor(call.in(i).type, call.in(i).shape);
    if (item.shape) {
      const std::int64_t given = in_axes && i - states < in_axes->size() ? (*in_axes)[i - states] : 0;
      const std::size_t axis = TRY(axis_of(given, item.shape->size()));
      if (!steps.known()) steps = (*item.shape)[axis];
      item.shape->erase(item.shape->begin() + static_cast<std::ptrdiff_t>(axis));
    }
    inputs.push_back(std::move(item));
  }
  const Body inside = TRY(settle(call, *body, inputs, 0, states, 0));
  call.repeat(inside, steps);
  Values values = fitted(inside.outputs, call.output_count());
  for (std::size_t i = states; i < values.size() && i < inside.outputs.size(); ++i) {
    const auto& shape = inside.outputs[i].shape;
    const std::int64_t given = out_axes && i - states < out_axes->size() ? (*out_axes)[i - states] : 0;
    values[i] = stacked(inside.outputs[i], steps, shape ? TRY(axis_of(given, shape->size() + 1)) : 0);
  }
  for (std::size_t i = 0; i < states && i < values.size(); ++i) values[i] = either(values[i], inputs[i]);
  return values;
}

}  // namespace

std::span<const Descriptor> control_descriptors() {
  static const Descriptor all[] = {
      {.name = "If", .domain = "", .since = {1, 11, 13, 16, 19, 21, 23, 24, 25}, .infer = infer_if},
      {.name = "Loop", .domain = "", .since = {1, 11, 13, 16, 19, 21, 23, 24, 25}, .infer = infer_loop},
      {.name = "Scan", .domain = "", .since = {8, 9, 11, 16, 19, 21, 23, 24, 25}, .infer = infer_scan},
  };
  return all;
}

}  // namespace anybit::ops
