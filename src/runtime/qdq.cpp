#include "runtime/qdq.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "graph/node.hpp"
#include "ops/number.hpp"
#include "ops/quantized/packed_tensor.hpp"

namespace anybit::runtime {
namespace {

using graph::attribute_or;
using ops::Array;
using ops::ElementType;

bool same_bytes(const Array* a, const Array* b) {
  return a && b && a->type() == b->type() && a->count() == b->count() &&
         std::memcmp(a->bytes(), b->bytes(), a->byte_count()) == 0;
}

// The 8-bit type that holds the values of a narrower type; undefined for others.
ElementType byte_type(ElementType few) {
  switch (few) {
    case ElementType::int2:
    case ElementType::int4:
      return ElementType::int8;
    case ElementType::uint2:
    case ElementType::uint4:
      return ElementType::uint8;
    default:
      return ElementType::undefined;
  }
}

}  // namespace

bool Qdq::takes(ElementType type) const {
  return accepted_ == IntegerTypes::bytes ? ops::is_byte(type) : ops::is_code(type);
}

bool Qdq::fit(const Quantized& of, std::int64_t axis) const {
  if (of.per_tensor) return true;
  const Array& values = *edit.constant(of.value);
  return graph::axis_in(of.axis, static_cast<std::int64_t>(values.rank())) == axis &&
         edit.constant(of.scale)->count() == values.dim(static_cast<std::size_t>(axis));
}

bool Qdq::same_parameters(const Quantized& a, const Quantized& b) const {
  return same_bytes(edit.constant(a.scale), edit.constant(b.scale)) &&
         same_bytes(edit.constant(a.zero_point), edit.constant(b.zero_point));
}

ElementType Qdq::type_of(int slot) const {
  const Array* array = edit.constant(slot);
  return array ? array->type() : ElementType::undefined;
}

float Qdq::scale(const Quantized& of) const { return *edit.constant(of.scale)->data<float>(); }

std::int64_t Qdq::zero(const Quantized& of) const { return ops::code_at(*edit.constant(of.zero_point), 0); }

std::optional<ElementType> Qdq::type_from_producer(int slot) const {
  if (const Array* array = edit.constant(slot)) return array->type();
  const int maker = edit.producer(slot);
  if (maker < 0)
    return slot < 0 ? ElementType::undefined : program.slots[static_cast<std::size_t>(slot)].type;
  const Step& step = program.steps[static_cast<std::size_t>(maker)];
  for (const ops::QuantizedTensor& one : step.descriptor->quantized) {
    if (one.output < 0 || step.outputs[static_cast<std::size_t>(one.output)] != slot) continue;
    return parameters_of(program, step, one).type;
  }
  if (is(step, "LookUp", ops::kAnybit)) return type_of(step.inputs[1]);
  const bool passes_on =
      step.descriptor->traits.role_in(*step.node) == ops::Traits::Role::move || is(step, "Clip");
  if (!passes_on || step.outputs[0] != slot) return ElementType::undefined;
  return std::nullopt;
}

// Memoized: a chain of pass-through steps is walked once, however many steps ask.
ElementType Qdq::integers_in(int slot) {
  std::vector<int> passed;
  std::optional<ElementType> found;
  while (!found) {
    if (const auto known = integers_in_.find(slot); known != integers_in_.end()) {
      found = known->second;
    } else if (found = type_from_producer(slot); !found) {
      passed.push_back(slot);
      slot = program.steps[static_cast<std::size_t>(edit.producer(slot))].inputs[0];
    }
  }
  for (const int one : passed) integers_in_.emplace(one, *found);
  return *found;
}

std::optional<Quantized> Qdq::read(std::size_t index) {
  const Step& step = program.steps[index];
  const Parameters parameters = parameters_of(program, step, step.descriptor->quantized.front());
  if (!parameters.known() || parameters.scale->rank() > 1 || parameters.block_size != 0) return std::nullopt;
  Quantized found;
  found.value = dequantizes(step) ? step.inputs[graph::QdqInputs::value] : step.outputs[0];
  found.scale = step.inputs[graph::QdqInputs::scale];
  found.axis = parameters.axis;
  found.per_tensor = parameters.per_tensor();
  found.step = index;
  if (parameters.has_zero_point) {
    found.zero_point = step.inputs[graph::QdqInputs::zero_point];
    return found;
  }
  const bool told = parameters.type != ElementType::undefined;
  const ElementType type = told ? parameters.type : integers_in(found.value);
  if (type == ElementType::undefined) return std::nullopt;
  auto zeros = Array::make(*resources.memory, type, parameters.scale->dims());
  if (!zeros.ok()) return std::nullopt;
  std::fill_n(zeros->mutable_bytes(), zeros->byte_count(), std::byte{0});
  found.zero_point = edit.add_constant(std::move(zeros).value());
  return found;
}

std::optional<Quantized> Qdq::from(int slot) {
  const int maker = edit.producer(slot);
  if (maker < 0 || !dequantizes(program.steps[static_cast<std::size_t>(maker)])) return std::nullopt;
  return read(static_cast<std::size_t>(maker));
}

std::optional<Quantized> Qdq::activation(int slot) {
  const auto found = from(slot);
  const bool fits = found && found->per_tensor && takes(type_of(found->zero_point));
  return fits ? found : std::nullopt;
}

Result<int> Qdq::as_bytes(int slot) {
  const ElementType type = byte_type(type_of(slot));
  if (type == ElementType::undefined) return slot;
  if (const auto known = bytes_of_.find(slot); known != bytes_of_.end()) return known->second;
  const Array& few = *edit.constant(slot);  // unpacked: one byte per element
  Array bytes = TRY(Array::make(*resources.memory, type, few.dims()));
  std::memcpy(bytes.mutable_bytes(), few.bytes(), few.byte_count());
  return bytes_of_[slot] = edit.add_constant(std::move(bytes));
}

Result<Quantized> Qdq::widened(Quantized of) {
  if (accepted_ != IntegerTypes::any) return of;
  of.value = TRY(as_bytes(of.value));
  of.zero_point = TRY(as_bytes(of.zero_point));
  return of;
}

// Quantization is monotonic, so clamping quantized values to the quantized bounds equals the Relu or Clip
// exactly.
std::optional<ops::QuantizedRange> Qdq::range_of_clamp(const Step& step, const Quantized& after) const {
  constexpr float kEndless = std::numeric_limits<float>::infinity();
  const auto bound = [&](std::size_t i, std::string_view name, float otherwise) -> std::optional<float> {
    if (is(step, "Relu")) return i == 1 ? 0.0F : otherwise;
    if (step.version < 11) return attribute_or(*step.node, name, otherwise);
    if (step.inputs.size() <= i || step.inputs[i] < 0) return otherwise;
    const Array* array = edit.constant(step.inputs[i]);
    if (!array || array->type() != ElementType::float32 || array->count() != 1) return std::nullopt;
    return *array->data<float>();
  };
  const auto low = bound(1, "min", -kEndless), high = bound(2, "max", kEndless);
  if (!low || !high || std::isnan(*low) || std::isnan(*high)) return std::nullopt;
  const auto code = [&](float x) {
    return ops::quantized(static_cast<double>(x / scale(after)), static_cast<std::int32_t>(zero(after)),
                          ops::range_of(type_of(after.zero_point)));
  };
  return ops::QuantizedRange{code(*low), code(*high)};
}

std::optional<Quantized> Qdq::from_quantizer(std::size_t step) {
  const auto found = read(step);
  const bool fits = found && found->per_tensor && takes(type_of(found->zero_point));
  return fits ? found : std::nullopt;
}

std::optional<Quantized> Qdq::into(int slot) {
  int next = edit.only_consumer(slot);
  if (next < 0) return std::nullopt;
  const auto between = static_cast<std::size_t>(next);
  const bool clamps = is(program.steps[between], "Relu") || is(program.steps[between], "Clip");
  if (clamps) {
    if (program.steps[between].inputs[0] != slot) return std::nullopt;
    next = edit.only_consumer(program.steps[between].outputs[0]);
    if (next < 0) return std::nullopt;
  }
  const auto last = static_cast<std::size_t>(next);
  if (!quantizes(program.steps[last])) return std::nullopt;
  auto found = from_quantizer(last);
  if (!found || program.steps[last].inputs[0] != (clamps ? program.steps[between].outputs[0] : slot)) {
    return std::nullopt;
  }
  if (!clamps) return found;
  const auto kept = range_of_clamp(program.steps[between], *found);
  if (!kept) return std::nullopt;
  const ops::QuantizedRange all = ops::range_of(type_of(found->zero_point));
  if (kept->low != all.low || kept->high != all.high) found->kept = kept;
  found->clamp = static_cast<int>(between);
  return found;
}

Result<int> Qdq::code_slot(ElementType type, std::int32_t code) {
  Array one = TRY(Array::make(*resources.memory, type, {}));
  ops::for_integer(type, [&]<class T>(T) { *one.mutable_data<T>() = static_cast<T>(code); });
  return edit.add_constant(std::move(one));
}

Result<void> Qdq::replace(std::size_t first, const Quantized& output, graph::Node node,
                          std::vector<int> inputs) {
  const auto clamp = static_cast<std::size_t>(output.clamp);
  if (output.kept) {
    const ElementType type = type_of(output.zero_point);
    const int quantized = program.steps[clamp].outputs[0];
    graph::Node clip = graph::as_operator(*program.steps[clamp].node, "Clip");
    clip.attributes.clear();
    const int low = TRY(code_slot(type, output.kept->low)), high = TRY(code_slot(type, output.kept->high));
    TRY(edit.replace(first, clamp, std::move(node), std::move(inputs)));
    return edit.replace(output.step, std::move(clip), {quantized, low, high});
  }
  if (output.clamp >= 0) edit.remove(clamp);
  return edit.replace(first, output.step, std::move(node), std::move(inputs));
}

}  // namespace anybit::runtime
