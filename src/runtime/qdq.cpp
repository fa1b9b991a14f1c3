#include "runtime/qdq.hpp"

#include <cmath>
#include <limits>

#include "graph/attribute.hpp"

namespace anybit::runtime {
namespace {

using graph::attribute_or;
using ops::Array;
using ops::ElementType;

std::int64_t code(const Array& array) {
  return array.type() == ElementType::int8 ? *array.data<std::int8_t>() : *array.data<std::uint8_t>();
}

}  // namespace

bool is_8_bit(ElementType type) { return type == ElementType::int8 || type == ElementType::uint8; }

ElementType Qdq::type_of(int slot) const {
  const Array* array = edit.constant(slot);
  return array ? array->type() : ElementType::undefined;
}

float Qdq::scale(const Quantized& of) const { return *edit.constant(of.scale)->data<float>(); }

std::int64_t Qdq::zero(const Quantized& of) const { return code(*edit.constant(of.zero_point)); }

std::optional<Quantized> Qdq::read(const Step& step, std::size_t index, bool dequantizes) {
  Quantized found;
  found.value = dequantizes ? step.inputs[0] : step.outputs[0];
  found.scale = step.inputs[1];
  found.zero_point = step.inputs.size() > 2 ? step.inputs[2] : -1;
  found.axis = attribute_or<std::int64_t>(*step.node, "axis", 1);
  found.step = index;
  const Array* scale = edit.constant(found.scale);
  if (!scale || scale->type() != ElementType::float32 ||
      attribute_or<std::int64_t>(*step.node, "block_size", 0) != 0)
    return std::nullopt;
  found.per_tensor = scale->count() == 1;
  if (found.zero_point >= 0) return edit.constant(found.zero_point) ? std::optional(found) : std::nullopt;
  // Without a zero point, the type is that of the integers: of a constant, or uint8 unless an attribute says
  // otherwise.
  const ElementType held = type_of(found.value);
  const auto said = static_cast<ElementType>(attribute_or<std::int64_t>(*step.node, "output_dtype", 0));
  ElementType type = dequantizes ? held : said == ElementType::undefined ? ElementType::uint8 : said;
  if (dequantizes && type == ElementType::undefined) return std::nullopt;
  auto zeros = Array::make(*resources.memory, type, scale->dims());
  if (!zeros.ok()) return std::nullopt;
  std::fill_n(zeros->mutable_bytes(), zeros->byte_count(), std::byte{0});
  found.zero_point = edit.add_constant(std::move(zeros).value());
  return found;
}

std::optional<Quantized> Qdq::from(int slot) {
  const int maker = edit.producer(slot);
  if (maker < 0 || !is(program.steps[static_cast<std::size_t>(maker)], "DequantizeLinear"))
    return std::nullopt;
  return read(program.steps[static_cast<std::size_t>(maker)], static_cast<std::size_t>(maker), true);
}

std::optional<Quantized> Qdq::activation(int slot) {
  const auto found = from(slot);
  const bool fits = found && found->per_tensor && is_8_bit(type_of(found->zero_point));
  return fits ? found : std::nullopt;
}

// A Relu or Clip whose bounds lie at or beyond the range of the codes.
bool Qdq::does_nothing(const Step& step, const Quantized& after) const {
  const bool is_signed = type_of(after.zero_point) == ElementType::int8;
  const double step_size = static_cast<double>(scale(after)), half = 0.5 * step_size;
  const double low = step_size * static_cast<double>((is_signed ? -128 : 0) - zero(after));
  const double high = step_size * static_cast<double>((is_signed ? 127 : 255) - zero(after));
  if (is(step, "Relu")) return low > -half;
  if (!is(step, "Clip") || step.version < 11) return false;
  const auto bound = [&](std::size_t i, double otherwise) -> std::optional<double> {
    if (step.inputs.size() <= i || step.inputs[i] < 0) return otherwise;
    const Array* array = edit.constant(step.inputs[i]);
    if (!array || array->type() != ElementType::float32) return std::nullopt;
    return static_cast<double>(*array->data<float>());
  };
  const auto least = bound(1, -HUGE_VAL), most = bound(2, HUGE_VAL);
  return least && most && *least<low + half&& * most> high - half;
}

std::optional<Quantized> Qdq::from_quantizer(std::size_t step) {
  const auto found = read(program.steps[step], step, false);
  const bool fits = found && found->per_tensor && is_8_bit(type_of(found->zero_point));
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
  if (!is(program.steps[last], "QuantizeLinear")) return std::nullopt;
  auto found = from_quantizer(last);
  if (!found || program.steps[last].inputs[0] != (clamps ? program.steps[between].outputs[0] : slot)) {
    return std::nullopt;
  }
  if (clamps && !does_nothing(program.steps[between], *found)) return std::nullopt;
  if (clamps) found->clamp = static_cast<int>(between);
  return found;
}

Result<void> Qdq::replace(std::size_t first, const Quantized& output, graph::Node node,
                          std::vector<int> inputs) {
  if (output.clamp >= 0) edit.remove(static_cast<std::size_t>(output.clamp));
  return edit.replace(first, output.step, std::move(node), std::move(inputs));
}

}  // namespace anybit::runtime
