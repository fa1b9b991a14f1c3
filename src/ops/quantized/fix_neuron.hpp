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

}  // namespace anybit::ops
