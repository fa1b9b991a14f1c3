// The operators of domain ai.anybit as functions of standard ONNX operators. A model carries them, so that
// any runtime can run it; anybit recognises them and uses its kernels. A modified function is run as written.
#pragma once

#include <optional>
#include <string_view>

#include "anybit/result.hpp"
#include "formats/neuron_table.hpp"
#include "formats/use.hpp"
#include "graph/model.hpp"

namespace anybit::portable {

// Functions of domain ai.anybit. Name: operation and format; doc string: the complete text of the use. Their
// opset is the lowest one with the required operators: the model, and the function with it, is raised to it.
// An error, with the reason, if the use cannot be expressed in ONNX operators.

// Fake quantization. Input: a tensor of any dimensions. Output: the nearest values of the format, after the
// shared parameters of each group were chosen. The rank in the use, if given, is checked against the axis;
// the function itself works for any rank.
Result<graph::Function> quantize_dequantize(const formats::Use& use);

// Dequantization. Inputs: packed codes (TensorFormat::packed_dims), then the stored fields of the format, in
// order. Attributes of the call: `coded`, the dimensions of the quantized tensor, and `dims`, those of the
// output. Output: float32.
Result<graph::Function> decode(const formats::Use& use);

// Operation and format of a function.
struct RecognisedFunction {
  std::string_view op;  // "QuantizeDequantize", "Decode" or "LookUpNeurons"
  formats::Use use;     // of the first two
  formats::NeuronTable neuron = {};
};
// nullopt unless the body is exactly what this version of anybit writes for the use in the doc string.
std::optional<RecognisedFunction> recognise_function(const graph::Function& function);

}  // namespace anybit::portable
