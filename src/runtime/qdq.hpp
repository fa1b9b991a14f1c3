// What fusions of quantized graphs share: which values are quantized, and with what.
#pragma once

#include <optional>

#include "runtime/edit.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {

// A value behind a DequantizeLinear, or before a QuantizeLinear: slots.
struct Quantized {
  int value = -1;  // the integers
  int scale = -1, zero_point = -1;
  std::int64_t axis = 1;  // of scales for channels
  bool per_tensor = true;
  std::size_t step = 0;  // the QuantizeLinear or DequantizeLinear
  int clamp = -1;        // a step before the QuantizeLinear that does nothing, to be removed with a fusion
};

class Qdq {
 public:
  Qdq(Program& of, const Resources& with) : program(of), edit(of), resources(with) {}

  // What `slot` is made from, if a DequantizeLinear with constant parameters makes it. A missing zero point
  // gets a slot.
  std::optional<Quantized> from(int slot);
  // The same, per tensor and of 8 bits: what activations must be.
  std::optional<Quantized> activation(int slot);
  // What becomes of `slot`, if its only consumer is a QuantizeLinear to 8 bits with constant parameters per
  // tensor; maybe through a Relu or Clip that the range of the codes does anyway (Quantized::clamp).
  std::optional<Quantized> into(int slot);

  // One node in place of the steps from `first` to what makes `output`.
  Result<void> replace(std::size_t first, const Quantized& output, graph::Node node, std::vector<int> inputs);
  // What a QuantizeLinear makes, per tensor and of 8 bits.
  std::optional<Quantized> from_quantizer(std::size_t step);

  ops::ElementType type_of(int constant_slot) const;
  float scale(const Quantized& of) const;
  std::int64_t zero(const Quantized& of) const;

  Program& program;
  Edit edit;
  const Resources& resources;

 private:
  bool does_nothing(const Step& step, const Quantized& after) const;
  std::optional<Quantized> read(const Step& step, std::size_t index, bool dequantizes);
};

bool is_8_bit(ops::ElementType type);

}  // namespace anybit::runtime
