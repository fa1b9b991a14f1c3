// Constant, ConstantOfShape, Range, EyeLike, OneHot: tensors made from numbers.
#include <algorithm>
#include <cmath>

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
  if (call.find("value_float")) return outputs_of(call, tensor(float32, Shape()));
  if (call.find("value_string")) return outputs_of(call, tensor(string, Shape()));
  if (const auto list = call.reals("value_floats")) {
    return outputs_of(call, tensor(float32, Shape{static_cast<std::int64_t>(list->size())}));
  }
  if (const auto* strings = call.find("value_strings")) {
    const auto* list = std::get_if<std::vector<std::string>>(&strings->value);
    return outputs_of(call, tensor(string, Shape{static_cast<std::int64_t>(list ? list->size() : 0)}));
  }
  return unknown_outputs(call);
}

// A vector of sizes of which only the length is known still tells the rank.
std::optional<Shape> shape_from(const Value& sizes) {
  if (sizes.elements) return *sizes.elements;
  if (!sizes.has_rank(1) || !(*sizes.shape)[0].known()) return std::nullopt;
  const std::int64_t rank = *(*sizes.shape)[0].size;
  return rank <= 32 ? std::optional(unknown_shape(static_cast<std::size_t>(rank))) : std::nullopt;
}

Result<Values> infer_constant_of_shape(const Call& call) {
  const graph::Tensor* held = call.tensor("value");
  Value value = tensor(held ? held->type() : float32, shape_from(call.in(0)));
  const Dim count = value.shape ? product(*value.shape) : Dim();
  if (count.known() && *count.size >= 0 && *count.size <= kFollowed) {
    const auto filling = held ? value_of(*held).elements : std::vector<Dim>{0};
    if (filling && filling->size() == 1) {
      value.elements = std::vector<Dim>(static_cast<std::size_t>(*count.size), (*filling)[0]);
    }
  }
  return outputs_of(call, std::move(value));
}

// max(0, ceil((limit - start) / delta))
Result<Values> infer_range(const Call& call) {
  Value value = tensor(call.in(0).type, unknown_shape(1));
  const auto number = [&](std::size_t i) -> std::optional<double> {
    if (const auto list = reals(call.in(i)); list && list->size() == 1) return (*list)[0];
    const auto& elements = call.in(i).elements;
    if (!elements || elements->size() != 1 || !(*elements)[0].known()) return std::nullopt;
    return static_cast<double>(*(*elements)[0].size);
  };
  const auto start = number(0), limit = number(1), delta = number(2);
  if (!start || !limit || !delta || *delta == 0.0) {
    // From 0 by 1: as many as the limit says, even if only its name is known.
    const bool counts =
        start == 0.0 && delta == 1.0 && call.in(1).elements && call.in(1).elements->size() == 1;
    if (counts) value.shape = Shape{(*call.in(1).elements)[0]};
    return outputs_of(call, std::move(value));
  }
  const double count = std::max(0.0, std::ceil((*limit - *start) / *delta));
  value.shape = Shape{scaled(Dim(1), count)};
  if (!is_float(value.type) && count <= static_cast<double>(kFollowed)) {
    value.elements.emplace();
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(count); ++i) {
      value.elements->push_back(Dim(static_cast<std::int64_t>(*start)) +
                                Dim(i) * Dim(static_cast<std::int64_t>(*delta)));
    }
  }
  return outputs_of(call, std::move(value));
}

Result<Values> infer_eye_like(const Call& call) {
  const auto type = call.integer("dtype");
  return outputs_of(call, tensor(type ? type_of(*type) : call.in(0).type, call.in(0).shape));
}

Result<Values> infer_one_hot(const Call& call) {
  const auto& indices = call.in(0).shape;
  if (!indices) return outputs_of(call, tensor(call.in(2).type, std::nullopt));
  Shape shape = *indices;
  const std::size_t axis = TRY(axis_of(call.integer("axis", -1), shape.size() + 1));
  const auto& depth = call.in(1).elements;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis),
               depth && depth->size() == 1 ? (*depth)[0] : Dim());
  return outputs_of(call, tensor(call.in(2).type, std::move(shape)));
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
      {.name = "ConstantOfShape",
       .domain = "",
       .since = {9, 20, 21, 23, 24, 25},
       .infer = infer_constant_of_shape},
      {.name = "Range", .domain = "", .since = {11, 27}, .infer = infer_range},
      {.name = "EyeLike", .domain = "", .since = {9, 22}, .infer = infer_eye_like},
      {.name = "OneHot", .domain = "", .since = {9, 11}, .infer = infer_one_hot},
  };
  return all;
}

}  // namespace anybit::ops
