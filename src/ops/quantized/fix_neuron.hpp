// What the attributes of AMD Quark's operators for MX and block floating point say.
#pragma once

#include "formats/use.hpp"
#include "ops/attributes.hpp"

namespace anybit::ops {

// MXFixNeuron and BFPFixNeuron of com.vai.quantize; MXQuantizeDequantize and BFPQuantizeDequantize of
// com.amd.quark.
bool is_fix_neuron(const graph::Node& node);

struct FixNeuron {
  formats::Use use;
  bool through_bfloat16 = false;  // values are rounded to bfloat16 first

  formats::Use use_for(std::size_t rank) const;  // a vector has no other axis
};
Result<FixNeuron> fix_neuron_of(const Attributes& node);

// The format of a node that rounds or decodes: one of these, or one of ai.anybit with the attribute `format`.
Result<formats::Use> format_of(const graph::Node& node);

// The other way round: an operator without inputs and outputs, of kQuark or kVitis. An error for formats that
// these operators lack.
inline constexpr std::string_view kQuark = "com.amd.quark", kVitis = "com.vai.quantize";
Result<graph::Node> make_fix_neuron(const formats::Use& use, std::int64_t axis, std::string_view domain);

}  // namespace anybit::ops
