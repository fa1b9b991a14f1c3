// ConcatFromSequence: concatenates the tensors of a sequence along an axis, or stacks them along a new one.
// ONNX: ConcatFromSequence-11.
#include "base/checked.hpp"
#include "ops/frame.hpp"
#include "ops/move/axis_slice.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) { return outputs_of(call, held_by(call.in(0))); }

Error unlike(const Datum& item, const Datum& first) {
  return wrong(fmt::format("{} cannot be joined with {}", to_string(item), to_string(first)),
               "one type, and one size on every other axis");
}

Result<void> run(Frame& frame) {
  const Datum& list = frame.datum(0);
  if (!list.is_sequence()) return wrong(fmt::format("input 0 is {}", to_string(list)), "a sequence");
  const std::vector<Datum>& items = list.sequence->items;
  if (items.empty() || !items[0].is_array()) return wrong("there is nothing to join in an empty sequence");
  const bool stack = frame.flag("new_axis");
  const auto given = frame.integer("axis");
  if (!given) return wrong("the attribute axis is missing");
  const Dims& first = items[0].array.dims();
  if (first.size() >= Dims::kCapacity) return wrong("the tensors have too many dimensions");
  const std::size_t axis = TRY(axis_of(*given, first.size() + (stack ? 1 : 0)));
  std::int64_t total = 0;
  for (const Datum& item : items) {
    if (!item.is_array() || item.array.type() != items[0].array.type() || item.array.rank() != first.size())
      return unlike(item, items[0]);
    for (std::size_t i = 0; i < first.size(); ++i) {
      if ((stack || i != axis) && item.array.dim(i) != first[i]) return unlike(item, items[0]);
    }
    total = checked_add(total, stack ? 1 : item.array.dim(axis)).value_or(-1);
    if (total < 0) return wrong("the joined tensor is too large");
  }
  Dims dims = first;
  if (stack) {
    dims.insert(axis, total);
  } else {
    dims[axis] = total;
  }
  Array* out = TRY(frame.out(0, items[0].array.type(), dims));
  std::int64_t at = 0;
  for (const Datum& item : items) {
    const std::int64_t size = stack ? 1 : item.array.dim(axis);
    put_part(item.array, *out, axis, at, size);
    at += size;
  }
  return {};
}

}  // namespace

std::span<const Descriptor> concat_from_sequence_descriptors() {
  static const Descriptor all[] = {
      {.name = "ConcatFromSequence", .domain = "", .since = {11}, .infer = infer, .run = run}};
  return all;
}

}  // namespace anybit::ops
