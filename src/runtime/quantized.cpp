#include "runtime/quantized.hpp"

#include "runtime/edit.hpp"

namespace anybit::runtime {
namespace {

// The axis of per-channel scales of the weights.
std::int64_t channel_axis(const Step& step) {
  const bool by_row =
      is(step, "QLinearConv") || is(step, "ConvInteger") || graph::integer(*step.node, "transB", 0) != 0;
  return by_row ? 0 : -1;
}

}  // namespace

const ops::Array* constant_in(const Program& program, int slot) {
  if (slot < 0) return nullptr;
  const Slot& about = program.slots[static_cast<std::size_t>(slot)];
  return about.is_constant && about.value.is_array() ? &about.value.array : nullptr;
}

Parameters parameters_of(const Program& program, const Step& step, const ops::QuantizedTensor& of) {
  const auto slot = [&](int input) {
    const auto i = static_cast<std::size_t>(input);
    return input >= 0 && i < step.inputs.size() ? step.inputs[i] : -1;
  };
  if (quantizes(step) || dequantizes(step)) {
    return graph::read_qdq<ops::Array>(
        *step.node, [&](std::size_t i) { return constant_in(program, slot(static_cast<int>(i))); });
  }
  Parameters read;
  read.scale = constant_in(program, slot(of.scale));
  read.has_zero_point = slot(of.zero_point) >= 0;
  read.zero_point = constant_in(program, slot(of.zero_point));
  if (read.zero_point) read.type = read.zero_point->type();
  read.axis = channel_axis(step);
  return read;
}

}  // namespace anybit::runtime
