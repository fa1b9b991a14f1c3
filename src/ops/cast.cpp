// Cast, CastLike and BitCast: another element type, the same shape. ONNX: Cast-1 … -25, CastLike-15 …,
// BitCast-26.
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

constexpr std::int64_t kExactInFloat = 1 << 24;

// Whole numbers stay what they are in a type that can hold them. The narrow types would wrap or round.
std::optional<std::vector<Dim>> cast_elements(const Value& input, ElementType to) {
  using enum ElementType;
  if (!input.elements) return std::nullopt;
  std::vector<Dim> list = *input.elements;
  for (Dim& dim : list) {
    if (to == boolean) {
      dim = dim.known() ? Dim(*dim.size != 0) : Dim();
    } else if (to == float32 || to == float64) {
      if (dim.known() && (*dim.size > kExactInFloat || *dim.size < -kExactInFloat)) dim = Dim();
    } else if (to == int32) {
      if (dim.known() && *dim.size != static_cast<std::int32_t>(*dim.size)) dim = Dim();
    } else if (to != int64) {
      return std::nullopt;
    }
  }
  return list;
}

Values cast_to(const Call& call, ElementType to) {
  Value value = tensor(to, call.in(0).shape);
  value.elements = cast_elements(call.in(0), to);
  return outputs_of(call, std::move(value));
}

Result<Values> infer_cast(const Call& call) {
  // Version 1 spelled the type out: "INT64".
  if (call.version < 6) return outputs_of(call, tensor(ElementType::undefined, call.in(0).shape));
  return cast_to(call, type_of(call.integer("to", 0)));
}

Result<Values> infer_cast_like(const Call& call) { return cast_to(call, call.in(1).type); }

Result<Values> infer_bit_cast(const Call& call) {
  return outputs_of(call, tensor(type_of(call.integer("to", 0)), call.in(0).shape));
}

}  // namespace

std::span<const Descriptor> cast_descriptors() {
  static const Descriptor all[] = {
      {.name = "Cast", .domain = "", .since = {1, 6, 9, 13, 19, 21, 23, 24, 25}, .infer = infer_cast},
      {.name = "CastLike", .domain = "", .since = {15, 19, 21, 23, 24, 25}, .infer = infer_cast_like},
      {.name = "BitCast", .domain = "", .since = {26}, .infer = infer_bit_cast},
  };
  return all;
}

}  // namespace anybit::ops
