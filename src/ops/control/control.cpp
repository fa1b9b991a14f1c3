#include "ops/control/control.hpp"

#include "ops/move/axis_slice.hpp"

namespace anybit::ops {
namespace {

// The value of a stacked output if there was no iteration.
Result<Datum> none_of(Frame& frame, const graph::ValueInfo& declared, std::int64_t axis) {
  const graph::TensorType* type = declared.type ? declared.type->tensor() : nullptr;
  if (!type || type->element_type() == ElementType::undefined) {
    return wrong(fmt::format("no iteration was run, and the body does not declare the type of '{}'",
                             shown(declared.name.str())));
  }
  Dims dims;
  if (type->shape) {
    if (type->shape->dims.size() >= Dims::kCapacity) return wrong("a stacked output has too many dimensions");
    for (const graph::Dimension& dim : type->shape->dims) dims.push_back(dim.known() ? dim.size() : 0);
  }
  dims.insert(TRY(axis_of(axis, dims.size() + 1)), 0);
  return Datum(TRY(Array::make(frame.memory(), type->element_type(), dims)));
}

bool same_knowledge(const Value& a, const Value& b) {
  if (a.type != b.type || a.holder != b.holder || a.shape.has_value() != b.shape.has_value()) return false;
  if (a.shape && to_string(*a.shape) != to_string(*b.shape)) return false;
  return !a.held || !b.held ? a.held == b.held : same_knowledge(*a.held, *b.held);
}

// A carried value may start as an optional and continue as its content.
void check_carried(const Call& call, std::size_t i, const Value& before, const Value& after) {
  const Value& begin = before.holder == Holder::optional && before.held ? *before.held : before;
  const Value& end = after.holder == Holder::optional && after.held ? *after.held : after;
  if (types_agree(begin, end)) return;
  call.contradict(fmt::format("loop-carried value {} is {} before an iteration, and {} after it", i,
                              to_string(before), to_string(after)));
}

}  // namespace

Value either(const Value& a, const Value& b) {
  Value result = tensor(a.type == b.type ? a.type : ElementType::undefined, common(a.shape, b.shape));
  if (a.held && b.held && a.holder == b.holder) {
    result.holder = a.holder;
    result.held = std::make_shared<const Value>(either(*a.held, *b.held));
  }
  return result;
}

Values fitted(Values values, std::size_t count) {
  values.resize(count);
  return values;
}

Value stacked(const Value& value, const Dim& count, std::size_t axis) {
  Value result = tensor(value.type, value.shape);
  if (result.shape && axis <= result.shape->size()) {
    result.shape->insert(result.shape->begin() + static_cast<std::ptrdiff_t>(axis), count);
  }
  return result;
}

Result<Body> settle(const Call& call, const graph::Graph& body, Values& inputs, std::size_t first_carried,
                    std::size_t carried, std::size_t first_output) {
  Body result;
  for (int round = 0; round < 2; ++round) {
    result = TRY(call.enter(body, inputs, "body"));
    bool stable = true;
    for (std::size_t i = 0; i < carried && first_output + i < result.outputs.size(); ++i) {
      Value& before = inputs[first_carried + i];
      const Value merged = either(before, result.outputs[first_output + i]);
      check_carried(call, i, before, result.outputs[first_output + i]);
      stable = stable && same_knowledge(merged, before);
      before = merged;
    }
    if (stable) return result;
  }
  for (std::size_t i = 0; i < carried && first_output + i < result.outputs.size(); ++i) {
    result.outputs[first_output + i] = inputs[first_carried + i];
  }
  return result;
}

Result<void> put_stacked(Frame& frame, std::size_t i, std::vector<Datum>& items, std::int64_t axis,
                         const graph::ValueInfo& declared) {
  if (!frame.wants(i)) return {};
  if (items.empty()) return frame.set(i, TRY(none_of(frame, declared, axis)));
  if (!items[0].is_array()) {
    return wrong(fmt::format("'{}' is {}", shown(declared.name.str()), to_string(items[0])), "a tensor");
  }
  const Array first = items[0].array;
  if (first.rank() >= Dims::kCapacity) return wrong("a stacked output has too many dimensions");
  Dims dims = first.dims();
  const std::size_t at = TRY(axis_of(axis, dims.size() + 1));
  dims.insert(at, static_cast<std::int64_t>(items.size()));
  Array* out = TRY(frame.out(i, first.type(), dims));
  for (std::size_t k = 0; k < items.size(); ++k) {
    if (!items[k].is_array() || items[k].array.type() != first.type() ||
        !(items[k].array.dims() == first.dims())) {
      return wrong(fmt::format("'{}' is {} in iteration {}, but {} in the first", shown(declared.name.str()),
                               to_string(items[k]), k, to_string(first)),
                   "the same type and shape in all iterations, which are stacked");
    }
    put_part(items[k].array, *out, at, static_cast<std::int64_t>(k), 1);
    items[k] = {};
  }
  items.clear();
  return {};
}

Result<const graph::Graph*> body_of(const Frame& frame, std::string_view attribute, std::size_t inputs,
                                    std::size_t outputs) {
  const graph::Graph* body = frame.graph(attribute);
  if (!body) return wrong(fmt::format("the graph '{}' is missing", attribute));
  if (body->inputs.size() != inputs) {
    return wrong(fmt::format("the graph '{}' has {} inputs", attribute, body->inputs.size()),
                 fmt::format("the node gives it {}", inputs));
  }
  if (body->outputs.size() < outputs) {
    return wrong(fmt::format("the graph '{}' has {} outputs", attribute, body->outputs.size()),
                 fmt::format("the node needs {}", outputs));
  }
  return body;
}

}  // namespace anybit::ops
