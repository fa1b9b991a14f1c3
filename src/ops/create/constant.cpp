// Constant: a tensor stored in its node. ONNX: Constant-1 … -25.
#include <algorithm>

#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

using enum ElementType;

Result<Values> infer_constant(const Call& call) {
  if (const graph::Tensor* held = call.tensor("value")) return outputs_of(call, value_of(*held));
  if (const auto number = call.integer("value_int")) {
    Value value = tensor(int64, Shape());
    value.elements = std::vector<Dim>{*number};
    return outputs_of(call, std::move(value));
  }
  if (const auto list = call.integers("value_ints"))
    return outputs_of(call, int64_vector({list->begin(), list->end()}));
  const auto size = [](const auto& list) { return Shape{Dim(static_cast<std::int64_t>(list->size()))}; };
  if (call.find("value_float")) return outputs_of(call, tensor(float32, Shape()));
  if (const auto list = call.floats("value_floats")) return outputs_of(call, tensor(float32, size(list)));
  if (call.find("value_string")) return outputs_of(call, tensor(string, Shape()));
  if (const auto list = call.texts("value_strings")) return outputs_of(call, tensor(string, size(list)));
  return unknown_outputs(call);
}

template <class T>
Result<void> fill(Frame& frame, ElementType type, const Dims& dims, std::span<const T> elements) {
  Array* out = TRY(frame.out(0, type, dims));
  std::ranges::copy(elements, out->mutable_data<T>());
  return {};
}

Result<void> run_constant(Frame& frame) {
  const auto size = [](const auto& list) { return Dims{static_cast<std::int64_t>(list->size())}; };
  if (const graph::Tensor* held = frame.tensor("value"))
    return frame.set(0, TRY(Array::from(*held, frame.memory())));
  if (const auto number = frame.integer("value_int"))
    return fill<std::int64_t>(frame, int64, {}, std::span(&*number, 1));
  if (const auto list = frame.ints("value_ints")) return fill(frame, int64, size(list), *list);
  if (frame.find("value_float")) {
    const auto number = static_cast<float>(frame.real("value_float", 0));
    return fill<float>(frame, float32, {}, std::span(&number, 1));
  }
  if (const auto list = frame.floats("value_floats")) return fill(frame, float32, size(list), *list);
  if (frame.find("value_string")) {
    const std::string text(frame.text("value_string", ""));
    return fill<std::string>(frame, string, {}, std::span(&text, 1));
  }
  if (const auto list = frame.texts("value_strings")) return fill(frame, string, size(list), *list);
  return wrong("it has no value", "one of value, value_int, value_float, …");
}

}  // namespace

std::span<const Descriptor> constant_descriptors() {
  static const Descriptor all[] = {
      {.name = "Constant",
       .domain = "",
       .since = {1, 9, 11, 12, 13, 19, 21, 23, 24, 25},
       .infer = infer_constant,
       .run = run_constant,
       .required = 0},
  };
  return all;
}

}  // namespace anybit::ops
