// The quantization parameters of a program's tensors: graph/quantization.hpp for steps.
#pragma once

#include "graph/quantization.hpp"
#include "runtime/program.hpp"

namespace anybit::runtime {

// ONNX's operators, or ONNX Runtime's.
inline bool quantizes(const Step& step) { return graph::quantizes(*step.node); }
inline bool dequantizes(const Step& step) { return graph::dequantizes(*step.node); }

// The value of a constant slot; null for other slots.
const ops::Array* constant_in(const Program& program, int slot);

using Parameters = graph::QdqParameters<ops::Array>;

// Of a tensor that the operator's descriptor marks as quantized.
Parameters parameters_of(const Program& program, const Step& step, const ops::QuantizedTensor& of);

}  // namespace anybit::runtime
