#include "codegen/quantization.hpp"

#include "graph/node.hpp"
#include "ops/number.hpp"
#include "runtime/edit.hpp"

namespace anybit::codegen {
namespace {

using ops::Array;
using ops::ElementType;
using runtime::Program;
using runtime::Step;

int slot_of(const std::vector<int>& slots, int number) {
  return number >= 0 && static_cast<std::size_t>(number) < slots.size()
             ? slots[static_cast<std::size_t>(number)]
             : -1;
}

// What elements of a whole type are in memory.
ElementType held_as(ElementType type) {
  if (type == ElementType::int4 || type == ElementType::int2) return ElementType::int8;
  if (type == ElementType::uint4 || type == ElementType::uint2) return ElementType::uint8;
  return type;
}

class Finder {
 public:
  Finder(const Program& program, const ops::Values& values)
      : program_(program), values_(values), found_(program.slots.size()) {}

  std::vector<std::optional<Quantization>> run() {
    for (const Step& step : program_.steps) {
      for (const ops::QuantizedTensor& one : step.descriptor->quantized) add(step, one);
    }
    for (const Step& step : program_.steps) hand_on(step, true);
    for (auto step = program_.steps.rbegin(); step != program_.steps.rend(); ++step) hand_on(*step, false);
    return std::move(found_);
  }

 private:
  const Array* constant(int slot) const {
    if (slot < 0) return nullptr;
    const runtime::Slot& about = program_.slots[static_cast<std::size_t>(slot)];
    return about.is_constant && about.value.is_array() ? &about.value.array : nullptr;
  }

  std::optional<std::int64_t> size_along(int slot, std::int64_t axis) const {
    const auto& shape = values_[static_cast<std::size_t>(slot)].shape;
    if (!shape || axis < 0 || axis >= std::ssize(*shape)) return std::nullopt;
    return (*shape)[static_cast<std::size_t>(axis)].size;
  }

  // The axis of a scale for each channel.
  std::int64_t axis_of(const Step& step, int slot) const {
    const auto& shape = values_[static_cast<std::size_t>(slot)].shape;
    const std::int64_t rank = shape ? std::ssize(*shape) : 0;
    if (runtime::is(step, "QuantizeLinear") || runtime::is(step, "DequantizeLinear")) {
      const auto axis = graph::attribute_or<std::int64_t>(*step.node, "axis", 1);
      return axis < 0 ? axis + rank : axis;
    }
    const bool by_row = runtime::is(step, "QLinearConv") || runtime::is(step, "ConvInteger") ||
                        graph::attribute_or<std::int64_t>(*step.node, "transB", 0) != 0;
    return by_row ? 0 : rank - 1;
  }

  std::vector<std::int32_t> zero_points(const Array& stored, std::size_t count) const {
    std::vector<std::int32_t> points(count);
    bool any = false;
    for (std::size_t i = 0; i < count; ++i) {
      const auto from = stored.count() == 1 ? 0 : static_cast<std::int64_t>(i);
      ops::for_integer(held_as(stored.type()),
                       [&]<class T>(T) { points[i] = static_cast<std::int32_t>(stored.data<T>()[from]); });
      any = any || points[i] != 0;
    }
    return any ? points : std::vector<std::int32_t>();
  }

  void add(const Step& step, const ops::QuantizedTensor& where) {
    const int slot =
        where.output >= 0 ? slot_of(step.outputs, where.output) : slot_of(step.inputs, where.input);
    const Array* scale = constant(slot_of(step.inputs, where.scale));
    if (slot < 0 || !scale || scale->type() != ElementType::float32 || scale->count() == 0) return;
    if (found_[static_cast<std::size_t>(slot)]) return;
    Quantization about;
    about.axis = static_cast<std::int32_t>(axis_of(step, slot));
    const bool by_channel = scale->count() > 1;
    if (by_channel && (scale->rank() != 1 || size_along(slot, about.axis) != scale->count())) return;
    if (!by_channel) about.axis = 0;
    const auto numbers = scale->elements<float>();
    about.scales.assign(numbers.begin(), numbers.end());
    const int zero = slot_of(step.inputs, where.zero_point);
    if (zero >= 0) {
      const Array* stored = constant(zero);
      if (!stored || (stored->count() != 1 && stored->count() != scale->count())) return;
      about.zero_points = zero_points(*stored, about.scales.size());
    }
    found_[static_cast<std::size_t>(slot)] = std::move(about);
  }

  // From the first input of an operator that only moves values, or cuts them off, to its output, or back.
  void hand_on(const Step& step, bool forward) {
    const ops::Traits& traits = step.descriptor->traits;
    const bool keeps = traits.role_in(*step.node) == ops::Traits::Role::move || traits.clamps;
    if (!keeps || step.inputs.empty() || step.outputs.empty() || step.inputs[0] < 0 || step.outputs[0] < 0)
      return;
    const auto in = static_cast<std::size_t>(step.inputs[0]), out = static_cast<std::size_t>(step.outputs[0]);
    auto &from = found_[forward ? in : out], &to = found_[forward ? out : in];
    if (from && !to && from->scales.size() == 1 && values_[in].type == values_[out].type) to = from;
  }

  const Program& program_;
  const ops::Values& values_;
  std::vector<std::optional<Quantization>> found_;
};

}  // namespace

std::vector<std::optional<Quantization>> quantization_of(const Program& program, const ops::Values& values) {
  return Finder(program, values).run();
}

}  // namespace anybit::codegen
