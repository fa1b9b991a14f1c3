// Operators that choose elements, where often only the data tell how many: TopK, NonZero, Compress, Unique,
// NonMaxSuppression.
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer_top_k(const Call& call) {
  const Value& input = call.in(0);
  Values values{tensor(input.type, input.shape), tensor(ElementType::int64, input.shape)};
  values.resize(call.output_count());
  if (!input.shape) return values;
  const std::size_t axis = TRY(axis_of(call.integer("axis", -1), input.shape->size()));
  const auto k =
      call.version < 10 ? std::optional(std::vector<Dim>{call.integer("k", 0)}) : call.in(1).elements;
  for (Value& value : values) {
    if (value.shape) (*value.shape)[axis] = k && k->size() == 1 ? (*k)[0] : Dim();
  }
  return values;
}

Result<Values> infer_non_zero(const Call& call) {
  const auto& shape = call.in(0).shape;
  const Dim rank = shape ? Dim(static_cast<std::int64_t>(shape->size())) : Dim();
  return outputs_of(call, tensor(ElementType::int64, Shape{rank, Dim()}));
}

Result<Values> infer_compress(const Call& call) {
  const auto axis = call.integer("axis");
  if (!axis) return outputs_of(call, tensor(call.in(0).type, unknown_shape(1)));
  auto shape = call.in(0).shape;
  if (shape) (*shape)[TRY(axis_of(*axis, shape->size()))] = Dim();
  return outputs_of(call, tensor(call.in(0).type, std::move(shape)));
}

Result<Values> infer_unique(const Call& call) {
  Values values(call.output_count(), tensor(ElementType::int64, unknown_shape(1)));
  if (values.empty()) return values;
  values[0] = tensor(call.in(0).type, unknown_shape(1));
  if (const auto axis = call.integer("axis")) {
    values[0].shape = call.in(0).shape;
    if (values[0].shape) (*values[0].shape)[TRY(axis_of(*axis, values[0].shape->size()))] = Dim();
  }
  return values;
}

Result<Values> infer_suppression(const Call& call) {
  return outputs_of(call, tensor(ElementType::int64, Shape{Dim(), Dim(3)}));
}

}  // namespace

std::span<const Descriptor> select_descriptors() {
  static const Descriptor all[] = {
      {.name = "TopK", .domain = "", .since = {1, 10, 11, 24}, .infer = infer_top_k},
      {.name = "NonZero", .domain = "", .since = {9, 13}, .infer = infer_non_zero},
      {.name = "Compress", .domain = "", .since = {9, 11}, .infer = infer_compress},
      {.name = "Unique", .domain = "", .since = {11}, .infer = infer_unique},
      {.name = "NonMaxSuppression", .domain = "", .since = {10, 11}, .infer = infer_suppression},
  };
  return all;
}

}  // namespace anybit::ops
