#include "ops/rules.hpp"

#include <algorithm>

namespace anybit::ops {

Result<std::size_t> axis_of(std::int64_t axis, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count) {
    return wrong(fmt::format("axis {} is outside a tensor of rank {}", axis, rank),
                 rank == 0 ? "" : fmt::format("axes go from {} to {}", -count, count - 1));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

Result<std::vector<std::size_t>> axes_of(std::span<const std::int64_t> axes, std::size_t rank) {
  std::vector<std::size_t> result;
  for (const std::int64_t axis : axes) {
    const std::size_t found = TRY(axis_of(axis, rank));
    if (std::find(result.begin(), result.end(), found) != result.end()) {
      return wrong(fmt::format("axis {} is given twice", axis));
    }
    result.push_back(found);
  }
  return result;
}

Result<std::optional<Shape>> broadcast(const std::optional<Shape>& a, const std::optional<Shape>& b) {
  if (!a || !b) return std::optional<Shape>();
  const Shape& longer = a->size() >= b->size() ? *a : *b;
  const Shape& shorter = a->size() >= b->size() ? *b : *a;
  Shape shape = longer;
  const std::size_t offset = longer.size() - shorter.size();
  for (std::size_t i = 0; i < shorter.size(); ++i) {
    Dim& left = shape[offset + i];
    const Dim& right = shorter[i];
    if (right.is(1) || same(left, right)) continue;
    if (left.is(1)) {
      left = right;
    } else if (left.known() && right.known()) {
      return wrong(fmt::format("shapes [{}] and [{}] do not broadcast", to_string(*a), to_string(*b)),
                   "each pair of dimensions, counted from the end, must be equal or hold a 1");
    } else {
      // A known size other than 1 decides: the unknown one equals it or is 1.
      left = left.known() ? left : right.known() ? right : Dim();
    }
  }
  return std::optional(std::move(shape));
}

Result<Values> infer_same(const Call& call) {
  return outputs_of(call, tensor(call.in(0).type, call.in(0).shape));
}

Result<Values> infer_like_first(const Call& call) {
  return Values(call.output_count(), tensor(call.in(0).type, call.in(0).shape));
}

Values unknown_outputs(const Call& call) { return Values(call.output_count()); }

Values outputs_of(const Call& call, Value first) {
  Values values(call.output_count());
  if (!values.empty()) values[0] = std::move(first);
  return values;
}

Shape unknown_shape(std::size_t rank) { return Shape(rank); }

Result<std::optional<Shape>> matmul_shape(const std::optional<Shape>& a, const std::optional<Shape>& b) {
  if (!a || !b) return std::optional<Shape>();
  if (a->empty() || b->empty())
    return wrong("a matrix multiplication needs at least one dimension on each side");
  const Dim& inner_a = a->back();
  const Dim& inner_b = b->size() == 1 ? b->front() : (*b)[b->size() - 2];
  if (inner_a.known() && inner_b.known() && !same(inner_a, inner_b)) {
    return wrong(fmt::format("shapes [{}] and [{}] do not multiply", to_string(*a), to_string(*b)),
                 "the last dimension of the first must equal the last but one of the second");
  }
  const std::size_t rows = a->size() == 1 ? 1 : 2;
  const std::size_t columns = b->size() == 1 ? 1 : 2;
  auto shape = TRY(broadcast(Shape(a->begin(), a->end() - static_cast<std::ptrdiff_t>(rows)),
                             Shape(b->begin(), b->end() - static_cast<std::ptrdiff_t>(columns))));
  if (rows == 2) shape->push_back((*a)[a->size() - 2]);
  if (columns == 2) shape->push_back(b->back());
  return shape;
}

ElementType type_of(std::int64_t number) {
  const bool possible = number > 0 && number < 1000;
  const auto type = possible ? static_cast<ElementType>(number) : ElementType::undefined;
  return graph::find(type) ? type : ElementType::undefined;
}

bool is_float(ElementType type) {
  using enum ElementType;
  return type == float32 || type == float64 || type == float16 || type == bfloat16;
}

}  // namespace anybit::ops
