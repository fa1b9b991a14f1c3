// What fusions of quantized graphs share: which values are quantized, and with what.
#pragma once

#include <optional>
#include <unordered_map>

#include "ops/quantization.hpp"
#include "runtime/edit.hpp"
#include "runtime/quantized.hpp"
#include "runtime/table.hpp"

namespace anybit::runtime {

// A value behind a DequantizeLinear, or before a QuantizeLinear: slots.
struct Quantized {
  int value = -1;  // the integers
  int scale = -1, zero_point = -1;
  std::int64_t axis = 1;  // of scales for channels
  bool per_tensor = true;
  std::size_t step = 0;  // the QuantizeLinear or DequantizeLinear
  int clamp = -1;        // a Relu or Clip before the QuantizeLinear, which goes with a fusion
  // The codes that it lets pass; nothing if those are all.
  std::optional<ops::WholeRange> kept = {};
};

// Which integers a fusion takes.
enum class Codes : std::uint8_t {
  bytes,  // those of 8 bits
  wide,   // and those of 16
  any,    // and weights of fewer than 8, which become bytes; generators are to see them as they are stored
};

class Qdq {
 public:
  Qdq(Program& of, const Resources& with, Codes codes = Codes::bytes)
      : program(of), edit(of), resources(with), codes_(codes) {}

  // What `slot` is made from, if a DequantizeLinear with constant parameters makes it.
  std::optional<Quantized> from(int slot);
  // The same, per tensor and of a type that is taken: what activations must be.
  std::optional<Quantized> activation(int slot);
  // What becomes of `slot`, if its only consumer is a QuantizeLinear to such a type with constant parameters
  // per tensor; maybe through a Relu or Clip (Quantized::clamp), which is a range of codes.
  std::optional<Quantized> into(int slot);

  // One node in place of the steps from `first` to what makes `output`; a Clip of its codes behind it where
  // that lets only some of them pass.
  Result<void> replace(std::size_t first, const Quantized& output, graph::Node node, std::vector<int> inputs);
  // The same with the values and zero points of constants as bytes, where their type has fewer bits and the
  // fusion takes any.
  Result<Quantized> widened(Quantized of);
  // What a QuantizeLinear makes, per tensor and of a type that is taken.
  std::optional<Quantized> from_quantizer(std::size_t step);

  // A new constant with one code.
  Result<int> code_slot(ops::ElementType type, std::int32_t code);
  bool takes(ops::ElementType type) const;
  // Whether a constant has one scale, or one for each index of this axis.
  bool fit(const Quantized& of, std::int64_t axis) const;
  bool same_parameters(const Quantized& a, const Quantized& b) const;
  ops::ElementType type_of(int constant_slot) const;
  float scale(const Quantized& of) const;
  std::int64_t zero(const Quantized& of) const;

  Program& program;
  Edit edit;
  const Resources& resources;

 private:
  std::optional<ops::WholeRange> codes_of_clamp(const Step& step, const Quantized& after) const;
  // Of the integers in a slot; undefined if nothing before it tells.
  ops::ElementType integers_in(int slot);
  // What a step tells of the integers that it puts into the slot; nothing if it passes on those of its first
  // input.
  std::optional<ops::ElementType> told_by(int slot) const;
  // What a QuantizeLinear makes, or a DequantizeLinear takes. A missing zero point gets a slot.
  std::optional<Quantized> read(std::size_t step);

  // A constant of few bits as bytes: its slot, or that of a constant of this kind itself.
  Result<int> as_bytes(int slot);

  Codes codes_;
  std::unordered_map<int, int> bytes_of_;                  // slots of few bits, and what they became
  std::unordered_map<int, ops::ElementType> integers_in_;  // slots that steps pass on
};

}  // namespace anybit::runtime
