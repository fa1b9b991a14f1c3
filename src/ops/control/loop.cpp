// Loop: runs a subgraph a number of times, or while a condition holds. ONNX: Loop-1 … -25.
#include "ops/check.hpp"
#include "ops/control/control.hpp"

namespace anybit::ops {
namespace {

// Inputs: trip count, condition, carried values. Body: iteration, condition, carried values → condition,
// carried values, values to stack.
Result<Values> infer_loop(const Call& call) {
  const graph::Graph* body = call.graph("body");
  if (!body) return wrong("Loop needs the graph body");
  const auto& limit = call.in(0).elements;
  // A condition may end the loop earlier.
  const bool counted = call.has(0) && limit && limit->size() == 1;
  const Dim trips = counted ? (*limit)[0] : Dim();
  const bool may_stop = call.has(1);
  const std::size_t carried = call.inputs.size() > 2 ? call.inputs.size() - 2 : 0;
  // A condition may have axes of size 1, which the body sees.
  const auto has_axes = [](const Value& value) { return value.shape && !value.shape->empty(); };
  Values inputs{tensor(ElementType::int64, Shape()), tensor(ElementType::boolean, Shape())};
  if (may_stop && has_axes(call.in(1))) inputs[1].shape.reset();
  for (std::size_t i = 0; i < carried; ++i) inputs.push_back(without_contents(call.in(i + 2)));
  const Values first = inputs;
  Body inside = TRY(settle(call, *body, inputs, 2, carried, 1));
  if (inputs[1].shape && !inside.outputs.empty() && has_axes(inside.outputs[0])) {
    inputs = first;
    inputs[1].shape.reset();
    inside = TRY(settle(call, *body, inputs, 2, carried, 1));
  }
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

Result<bool> holds(const Datum& condition) {
  if (!condition.is_array() || condition.array.type() != ElementType::boolean ||
      condition.array.count() != 1) {
    return wrong(fmt::format("the condition is {}", to_string(condition)), "a single boolean");
  }
  return *condition.array.data<bool>();
}

Result<void> run(Frame& frame) {
  const std::size_t carried = frame.input_count() > 2 ? frame.input_count() - 2 : 0;
  const std::size_t outputs = std::max(frame.output_count(), carried);
  const graph::Graph* body = TRY(body_of(frame, "body", carried + 2, outputs + 1));
  const std::int64_t limit = frame.has(0) ? TRY(integer_from(frame.in(0), "the trip count")) : 0;

  if (only_checks(frame)) return {};
  // The counter has no owner, so the body copies it if it keeps it.
  std::int64_t iteration = 0;
  bool always = true;
  const auto bytes = [](auto& value) { return reinterpret_cast<std::byte*>(&value); };
  std::vector<Datum> values(carried + 2);
  values[0] = Array::over(ElementType::int64, {}, bytes(iteration));
  values[1] = frame.has(1) ? frame.datum(1) : Datum(Array::over(ElementType::boolean, {}, bytes(always)));
  for (std::size_t i = 0; i < carried; ++i) values[i + 2] = frame.datum(i + 2);

  std::vector<std::vector<Datum>> collected(outputs - carried);
  for (; (!frame.has(0) || iteration < limit) && TRY(holds(values[1])); ++iteration) {
    const auto results = TRY(frame.call("body", values));
    for (std::size_t i = 0; i < carried + 1; ++i) values[i + 1] = results[i];
    for (std::size_t i = 0; i < collected.size(); ++i) {
      if (frame.wants(carried + i)) collected[i].push_back(results[carried + 1 + i]);
    }
  }
  for (std::size_t i = 0; i < carried && i < frame.output_count(); ++i) TRY(frame.set(i, values[i + 2]));
  for (std::size_t i = 0; i < collected.size(); ++i) {
    TRY(put_stacked(frame, carried + i, collected[i], 0, body->outputs[carried + 1 + i]));
  }
  return {};
}

}  // namespace

std::span<const Descriptor> loop_descriptors() {
  static const Descriptor all[] = {{.name = "Loop",
                                    .domain = "",
                                    .since = {1, 11, 13, 16, 19, 21, 23, 24, 25},
                                    .infer = infer_loop,
                                    .run = run,
                                    .required = 0}};
  return all;
}

}  // namespace anybit::ops
