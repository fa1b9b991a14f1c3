// SplitToSequence: a tensor split along an axis into a sequence. ONNX: SplitToSequence-11, -24 (types).
#include "ops/check.hpp"
#include "ops/frame.hpp"
#include "ops/move/axis_slice.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer(const Call& call) { return outputs_of(call, sequence_of(call.in(0))); }

// Length of each part: one number for all (the last part may be shorter), a list, or 1 each.
Result<std::vector<std::int64_t>> lengths_of(const Frame& frame, std::int64_t total) {
  std::vector<std::int64_t> lengths;
  if (frame.has(1) && frame.in(1).rank() > 0) {
    const Array& given = frame.in(1);
    const bool whole = given.type() == ElementType::int64 || given.type() == ElementType::int32;
    if (whole && !has_elements(given)) return not_known();
    std::int64_t left = total;
    const auto take = [&]<class T>(T) {
      for (const T length : given.elements<T>()) {
        const auto size = static_cast<std::int64_t>(length);
        if (size < 0 || size > left) return false;
        left -= size;
        lengths.push_back(size);
      }
      return left == 0;
    };
    const bool fits = given.type() == ElementType::int64   ? take(std::int64_t())
                      : given.type() == ElementType::int32 ? take(std::int32_t())
                                                           : false;
    if (!fits)
      return wrong(fmt::format("the lengths do not add up to {}", total), "int64 or int32 lengths that do");
    return lengths;
  }
  const std::int64_t each = frame.has(1) ? TRY(integer_from(frame.in(1), "the length")) : 1;
  if (each < 1) return wrong(fmt::format("the length of the parts is {}", each), "1 or more");
  for (std::int64_t at = 0; at < total; at += each) {
    lengths.push_back(std::min(each, total - at));
    if (total - at <= each) break;
  }
  return lengths;
}

Result<void> run(Frame& frame) {
  const Array& whole = frame.in(0);
  if (!frame.datum(0).is_array()) return wrong_type(frame, 0);
  const std::size_t axis = TRY(axis_of(frame.integer("axis", 0), whole.rank()));
  const auto lengths = TRY(lengths_of(frame, whole.dim(axis)));
  if (only_checks(frame)) return {};
  const bool drop_axis = !frame.has(1) && !frame.flag("keepdims", true);
  auto made = std::make_shared<Sequence>();
  made->element = whole.type();
  std::int64_t at = 0;
  for (const std::int64_t length : lengths) {
    Dims dims = whole.dims();
    if (drop_axis) {
      dims.erase(axis);
    } else {
      dims[axis] = length;
    }
    Array part = TRY(Array::make(frame.memory(), whole.type(), dims));
    take_part(whole, part, axis, at, length);
    made->items.emplace_back(std::move(part));
    at += length;
  }
  return frame.set(0, Datum(std::shared_ptr<const Sequence>(std::move(made))));
}

}  // namespace

std::span<const Descriptor> split_to_sequence_descriptors() {
  static const Descriptor all[] = {
      {.name = "SplitToSequence", .domain = "", .since = {11, 24}, .infer = infer, .run = run}};
  return all;
}

}  // namespace anybit::ops
