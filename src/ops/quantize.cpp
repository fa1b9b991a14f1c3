// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear: between floats and integers or small floats. ONNX:
// QuantizeLinear-10 … -25 (output_dtype, block_size since 21); ONNX Runtime has them under its own domain,
// too.
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// The zero point has the quantized type; without one, output_dtype, and then uint8.
Result<Values> infer_quantize(const Call& call) {
  ElementType type = call.has(2) ? call.in(2).type : type_of(call.integer("output_dtype", 0));
  if (!call.has(2) && type == ElementType::undefined) type = ElementType::uint8;
  return outputs_of(call, tensor(type, call.in(0).shape));
}

Result<Values> infer_dequantize(const Call& call) {
  const ElementType asked = type_of(call.integer("output_dtype", 0));
  return outputs_of(call,
                    tensor(asked != ElementType::undefined ? asked : call.in(1).type, call.in(0).shape));
}

// The tensor, its scale, its zero point.
Result<Values> infer_dynamic(const Call& call) {
  Values values = outputs_of(call, tensor(ElementType::uint8, call.in(0).shape));
  if (values.size() > 1) values[1] = tensor(ElementType::float32, Shape());
  if (values.size() > 2) values[2] = tensor(ElementType::uint8, Shape());
  return values;
}

const QuantizedTensor kQuantized{.output = 0, .scale = 1, .zero_point = 2};
const QuantizedTensor kDequantized{.input = 0, .scale = 1, .zero_point = 2};

}  // namespace

std::span<const Descriptor> quantize_descriptors() {
  static const Descriptor all[] = {
      {.name = "QuantizeLinear",
       .domain = "",
       .since = {10, 13, 19, 21, 23, 24, 25},
       .infer = infer_quantize,
       .quantized = {kQuantized}},
      {.name = "DequantizeLinear",
       .domain = "",
       .since = {10, 13, 19, 21, 23, 24, 25},
       .infer = infer_dequantize,
       .quantized = {kDequantized}},
      {.name = "DynamicQuantizeLinear",
       .domain = "",
       .since = {11},
       .infer = infer_dynamic,
       .quantized = {{.output = 0, .scale_output = 1}}},
      {.name = "QuantizeLinear",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer_quantize,
       .quantized = {kQuantized}},
      {.name = "DequantizeLinear",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer_dequantize,
       .quantized = {kDequantized}},
  };
  return all;
}

}  // namespace anybit::ops
