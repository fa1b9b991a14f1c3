// SequenceConstruct, SequenceEmpty, SequenceAt, SequenceInsert, SequenceErase, SequenceLength: lists of
// tensors as values. ONNX: version 11 of each. Items are shared between lists, never copied.
#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer_construct(const Call& call) { return outputs_of(call, sequence_of(call.in(0))); }

Result<Values> infer_empty(const Call& call) {
  const auto type = call.integer("dtype", static_cast<std::int64_t>(ElementType::float32));
  return outputs_of(call, sequence_of(tensor(type_of(type), std::nullopt)));
}

Result<Values> infer_at(const Call& call) { return outputs_of(call, held_by(call.in(0))); }

Result<Values> infer_same_list(const Call& call) { return outputs_of(call, without_contents(call.in(0))); }

Result<Values> infer_length(const Call& call) {
  return outputs_of(call, tensor(ElementType::int64, Shape()));
}

Result<const Sequence*> sequence_in(const Frame& frame, std::size_t i) {
  const Datum& value = frame.datum(i);
  if (!value.is_sequence()) return wrong(fmt::format("input {} is {}", i, to_string(value)), "a sequence");
  return value.sequence.get();
}

// A non-negative position; `last` is the largest valid one.
Result<std::size_t> position_in(const Frame& frame, std::size_t i, std::size_t count, std::int64_t last) {
  const std::int64_t given = TRY(integer_from(frame.in(i), "the position"));
  const auto size = static_cast<std::int64_t>(count);
  if (given < -size || given > last) {
    return wrong(fmt::format("position {} is outside a sequence of {}", given, size),
                 fmt::format("{} to {}", -size, last));
  }
  return static_cast<std::size_t>(given < 0 ? given + size : given);
}

Result<void> run_construct(Frame& frame) {
  auto made = std::make_shared<Sequence>();
  for (std::size_t i = 0; i < frame.input_count(); ++i) {
    if (frame.in(i).type() != frame.in(0).type() || !frame.datum(i).is_array()) {
      return wrong(
          fmt::format("input {} is {}, input 0 {}", i, to_string(frame.datum(i)), to_string(frame.datum(0))),
          "tensors of one type");
    }
    made->items.push_back(TRY(frame.keep(frame.datum(i))));
  }
  made->element = frame.in(0).type();
  return frame.set(0, Datum(std::shared_ptr<const Sequence>(std::move(made))));
}

Result<void> run_empty(Frame& frame) {
  auto made = std::make_shared<Sequence>();
  made->element = type_of(frame.integer("dtype", static_cast<std::int64_t>(ElementType::float32)));
  return frame.set(0, Datum(std::shared_ptr<const Sequence>(std::move(made))));
}

Result<void> run_at(Frame& frame) {
  const Sequence* list = TRY(sequence_in(frame, 0));
  const auto last = static_cast<std::int64_t>(list->items.size()) - 1;
  return frame.set(0, list->items[TRY(position_in(frame, 1, list->items.size(), last))]);
}

Result<void> run_insert(Frame& frame) {
  const Sequence* list = TRY(sequence_in(frame, 0));
  const Datum& item = frame.datum(1);
  if (!item.is_array()) return wrong(fmt::format("input 1 is {}", to_string(item)), "a tensor");
  if (!list->items.empty() && list->element != item.array.type() && list->element != ElementType::undefined) {
    return wrong(
        fmt::format("{} does not fit into a sequence of {}", to_string(item), graph::name_of(list->element)));
  }
  const std::size_t count = list->items.size();
  const std::size_t at =
      frame.has(2) ? TRY(position_in(frame, 2, count, static_cast<std::int64_t>(count))) : count;
  auto made = std::make_shared<Sequence>(*list);
  made->element = item.array.type();
  made->items.insert(made->items.begin() + static_cast<std::ptrdiff_t>(at), TRY(frame.keep(item)));
  return frame.set(0, Datum(std::shared_ptr<const Sequence>(std::move(made))));
}

Result<void> run_erase(Frame& frame) {
  const Sequence* list = TRY(sequence_in(frame, 0));
  const auto last = static_cast<std::int64_t>(list->items.size()) - 1;
  if (last < 0) return wrong("there is nothing to erase from an empty sequence");
  const std::size_t at =
      frame.has(1) ? TRY(position_in(frame, 1, list->items.size(), last)) : static_cast<std::size_t>(last);
  auto made = std::make_shared<Sequence>(*list);
  made->items.erase(made->items.begin() + static_cast<std::ptrdiff_t>(at));
  return frame.set(0, Datum(std::shared_ptr<const Sequence>(std::move(made))));
}

Result<void> run_length(Frame& frame) {
  const Sequence* list = TRY(sequence_in(frame, 0));
  Array* out = TRY(frame.out(0, ElementType::int64, {}));
  *out->mutable_data<std::int64_t>() = static_cast<std::int64_t>(list->items.size());
  return {};
}

constexpr Descriptor about(std::string_view name, Infer infer, Run run, std::size_t required) {
  return {.name = name, .domain = "", .since = {11}, .infer = infer, .run = run, .required = required};
}

}  // namespace

std::span<const Descriptor> sequence_descriptors() {
  static const Descriptor all[] = {
      about("SequenceConstruct", infer_construct, run_construct, 1),
      about("SequenceEmpty", infer_empty, run_empty, 0),
      about("SequenceAt", infer_at, run_at, 2),
      about("SequenceInsert", infer_same_list, run_insert, 2),
      about("SequenceErase", infer_same_list, run_erase, 1),
      about("SequenceLength", infer_length, run_length, 1),
  };
  return all;
}

}  // namespace anybit::ops
