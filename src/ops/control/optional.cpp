// Optional, OptionalHasElement, OptionalGetElement: values that may be empty. At run time an optional is
// stored as its element. ONNX: Optional-15, OptionalHasElement-15, -18, OptionalGetElement-15, -18.
#include "ops/frame.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

Result<Values> infer_optional(const Call& call) { return outputs_of(call, optional_of(call.in(0))); }

// Since version 18 the input may be a plain tensor or sequence.
Result<Values> infer_get(const Call& call) {
  const Value& given = call.in(0);
  return outputs_of(call, given.holder == Holder::optional ? held_by(given) : without_contents(given));
}

Result<Values> infer_has(const Call& call) { return outputs_of(call, tensor(ElementType::boolean, Shape())); }

Result<void> hand_on(Frame& frame) {
  if (frame.datum(0).is_array()) return frame.share(0, 0, frame.in(0).dims());
  return frame.set(0, frame.datum(0));
}

Result<void> run_has(Frame& frame) {
  Array* out = TRY(frame.out(0, ElementType::boolean, {}));
  *out->mutable_data<bool>() = frame.has(0);
  return {};
}

Result<void> run_get(Frame& frame) {
  if (!frame.has(0)) return wrong("the optional is empty", "check it with OptionalHasElement first");
  return hand_on(frame);
}

}  // namespace

std::span<const Descriptor> optional_descriptors() {
  static const Descriptor all[] = {
      {.name = "Optional",
       .domain = "",
       .since = {15},
       .infer = infer_optional,
       .run = hand_on,
       .required = 0},
      {.name = "OptionalHasElement",
       .domain = "",
       .since = {15, 18},
       .infer = infer_has,
       .run = run_has,
       .required = 0},
      {.name = "OptionalGetElement", .domain = "", .since = {15, 18}, .infer = infer_get, .run = run_get},
  };
  return all;
}

}  // namespace anybit::ops
