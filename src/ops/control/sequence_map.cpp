// SequenceMap: runs its body for each item of a sequence; its outputs are sequences. ONNX: SequenceMap-17.
#include "ops/control/control.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) {
  const graph::Graph* body = call.graph("body");
  if (!body) return wrong("SequenceMap needs the graph body");
  Values inputs;
  for (const Value* given : call.inputs) {
    inputs.push_back(given->holder == Holder::sequence ? held_by(*given) : without_contents(*given));
  }
  const Body inside = TRY(call.enter(*body, inputs, "body"));
  call.repeat(inside, Dim());
  Values values = fitted(inside.outputs, call.output_count());
  for (Value& value : values) value = sequence_of(value);
  return values;
}

Result<void> run(Frame& frame) {
  TRY(body_of(frame, "body", frame.input_count(), frame.output_count()));
  if (!frame.datum(0).is_sequence())
    return wrong(fmt::format("input 0 is {}", to_string(frame.datum(0))), "a sequence");
  const std::size_t count = frame.datum(0).sequence->items.size();
  std::vector<Datum> inputs(frame.input_count());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = frame.datum(i);
    if (inputs[i].is_sequence() && inputs[i].sequence->items.size() != count) {
      return wrong(fmt::format("input {} is {}", i, to_string(inputs[i])),
                   fmt::format("as many items as the first input has: {}", count));
    }
  }
  std::vector<std::shared_ptr<Sequence>> made;
  for (std::size_t i = 0; i < frame.output_count(); ++i) made.push_back(std::make_shared<Sequence>());
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (frame.datum(i).is_sequence()) inputs[i] = frame.datum(i).sequence->items[k];
    }
    const auto outputs = TRY(frame.call("body", inputs));
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (!outputs[i].is_array())
        return wrong(fmt::format("output {} of the body is {}", i, to_string(outputs[i])), "a tensor");
      made[i]->element = outputs[i].array.type();
      made[i]->items.push_back(TRY(frame.keep(outputs[i])));
    }
  }
  for (std::size_t i = 0; i < made.size(); ++i) {
    TRY(frame.set(i, Datum(std::shared_ptr<const Sequence>(std::move(made[i])))));
  }
  return {};
}

}  // namespace

std::span<const Descriptor> sequence_map_descriptors() {
  static const Descriptor all[] = {
      {.name = "SequenceMap", .domain = "", .since = {17}, .infer = infer, .run = run}};
  return all;
}

}  // namespace anybit::ops
