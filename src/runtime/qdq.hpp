// Shared by the fusions of quantized graphs: which values are quantized, and with which parameters.
#pragma once

#include <optional>
#include <unordered_map>

#include "ops/quantized/quantization.hpp"
#include "runtime/edit.hpp"
#include "runtime/quantized.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {

// The quantized value at a DequantizeLinear's input or a QuantizeLinear's output, as slots.
struct Quantized {
  int value = -1;  // the integers
  int scale = -1, zero_point = -1;
  std::int64_t axis = 1;  // of per-channel scales
  bool per_tensor = true;
  std::size_t step = 0;  // the QuantizeLinear or DequantizeLinear
  int clamp = -1;        // a Relu or Clip before the QuantizeLinear, which the fusion removes; -1: none
  // The integer range left by the clamp; empty if it clips nothing.
  std::optional<ops::QuantizedRange> kept = {};
};

// The integer types that a fusion accepts.
enum class IntegerTypes : std::uint8_t {
  bytes,  // 8 bits
  wide,   // 8 and 16 bits
  any,    // also weights below 8 bits, widened to 8; not for generators, which get weights as stored
};

class Qdq {
 public:
  Qdq(Program& of, const Resources& with, IntegerTypes accepted = IntegerTypes::bytes)
      : program(of), edit(of), resources(with), accepted_(accepted) {}

  // The quantized value behind `slot`, if a DequantizeLinear with constant parameters produces it.
  std::optional<Quantized> from(int slot);
  // The same, if it is per tensor and of an accepted type, as activations must be.
  std::optional<Quantized> activation(int slot);
  // The quantized form of `slot`, if its only consumer is a QuantizeLinear to an accepted type with constant
  // per-tensor parameters, possibly through a Relu or Clip (Quantized::clamp).
  std::optional<Quantized> into(int slot);

  // Replaces the steps from `first` to the producer of `output` with one node, followed by a Clip of the
  // integers if there is a clamp that needs one.
  Result<void> replace(std::size_t first, const Quantized& output, graph::Node node, std::vector<int> inputs);
  // The same value with constants and zero points below 8 bits widened to bytes, if the fusion accepts any
  // width.
  Result<Quantized> widened(Quantized of);
  // The output of a QuantizeLinear, if it is per tensor and of an accepted type.
  std::optional<Quantized> from_quantizer(std::size_t step);

  // Adds a constant with one quantized value.
  Result<int> code_slot(ops::ElementType type, std::int32_t code);
  bool takes(ops::ElementType type) const;
  // Whether the parameters are per tensor, or per channel of this axis.
  bool fit(const Quantized& of, std::int64_t axis) const;
  bool same_parameters(const Quantized& a, const Quantized& b) const;
  ops::ElementType type_of(int constant_slot) const;
  float scale(const Quantized& of) const;
  std::int64_t zero(const Quantized& of) const;

  Program& program;
  Edit edit;
  const Resources& resources;

 private:
  std::optional<ops::QuantizedRange> range_of_clamp(const Step& step, const Quantized& after) const;
  // The integer type of a slot; undefined if no step before it determines it.
  ops::ElementType integers_in(int slot);
  // The integer type that the producer of a slot determines; empty if it passes on the type of its first
  // input.
  std::optional<ops::ElementType> type_from_producer(int slot) const;
  // The output of a QuantizeLinear or the input of a DequantizeLinear. A missing zero point gets a slot.
  std::optional<Quantized> read(std::size_t step);

  // The slot of a constant below 8 bits widened to bytes; other constants keep their slot.
  Result<int> as_bytes(int slot);

  IntegerTypes accepted_;
  std::unordered_map<int, int> bytes_of_;  // from constants below 8 bits to their widened copies
  std::unordered_map<int, ops::ElementType> integers_in_;  // the memo of integers_in()
};

}  // namespace anybit::runtime
