// The operators of ai.anybit as functions of ONNX's own operators. A model carries them, so that any runtime
// runs it; anybit knows them again and uses its kernels. A function that was changed is run as it is written.
#pragma once

#include <optional>
#include <string_view>

#include "anybit/result.hpp"
#include "formats/use.hpp"
#include "graph/model.hpp"

namespace anybit::portable {

// Functions of domain ai.anybit, named after what they do and to what; the doc is the text of the use, and
// tells it all. Their opset is the lowest that has what they need: a model is raised to it, and the function
// with it. An error if the use cannot be said in ONNX's operators, with the reason.

// Input: values, of any dimensions. Output: the nearest that the format has, after it has chosen what groups
// share. A rank in the use is checked against its axis; the function itself needs none.
Result<graph::Function> quantize_dequantize(const formats::Use& use);

// Inputs: packed codes (TensorFormat::packed_dims), then the fields that the format stores, in its order.
// Attributes of the call: `coded`, the dimensions of the tensor that was coded, and `dims`, those that it
// gets. Output: float32.
Result<graph::Function> decode(const formats::Use& use);

// What a function does.
struct Meaning {
  std::string_view op;  // "QuantizeDequantize" or "Decode"
  formats::Use use;
};
// Nothing unless the body is just what this version of anybit writes for the use in its doc.
std::optional<Meaning> meaning_of(const graph::Function& function);

}  // namespace anybit::portable
