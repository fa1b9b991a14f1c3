// Matrix products with numpy's rules: MatMul and its integer and quantized forms, and those of ONNX Runtime.
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// Each output element is a sum over the first operand's last axis.
Dim macs_with(const Value& a, std::span<const Value> outputs) {
  if (!a.shape || a.shape->empty() || outputs.empty() || !outputs[0].shape) return {};
  return product(*outputs[0].shape) * a.shape->back();
}

Result<Values> infer(const Call& call) {
  return outputs_of(call, tensor(call.in(0).type, TRY(matmul_shape(call.in(0).shape, call.in(1).shape))));
}
Dim macs(const Call& call, std::span<const Value> outputs) { return macs_with(call.in(0), outputs); }

Result<Values> infer_integer(const Call& call) {
  return outputs_of(call, tensor(ElementType::int32, TRY(matmul_shape(call.in(0).shape, call.in(1).shape))));
}
// The product of integers, scaled back to float: the type is that of a scale.
Result<Values> infer_integer_to_float(const Call& call) {
  return outputs_of(call, tensor(call.in(2).type, TRY(matmul_shape(call.in(0).shape, call.in(1).shape))));
}
Result<Values> infer_qlinear(const Call& call) {
  const ElementType type = call.in(7).type != ElementType::undefined ? call.in(7).type : call.in(0).type;
  return outputs_of(call, tensor(type, TRY(matmul_shape(call.in(0).shape, call.in(3).shape))));
}

std::optional<Shape> swapped(const std::optional<Shape>& shape, bool swap) {
  if (!shape || !swap || shape->size() < 2) return shape;
  Shape result = *shape;
  std::swap(result[result.size() - 1], result[result.size() - 2]);
  return result;
}

Result<Values> infer_fused(const Call& call) {
  if (call.integer("transBatchA", 0) != 0 || call.integer("transBatchB", 0) != 0) {
    return outputs_of(call, tensor(call.in(0).type, std::nullopt));
  }
  const auto a = swapped(call.in(0).shape, call.integer("transA", 0) != 0);
  const auto b = swapped(call.in(1).shape, call.integer("transB", 0) != 0);
  return outputs_of(call, tensor(call.in(0).type, TRY(matmul_shape(a, b))));
}
Dim macs_fused(const Call& call, std::span<const Value> outputs) {
  Value a = call.in(0);
  a.shape = swapped(a.shape, call.integer("transA", 0) != 0);
  return macs_with(a, outputs);
}

// The weight is packed; attributes K and N tell its shape.
Result<Values> infer_n_bits(const Call& call) {
  auto shape = call.in(0).shape;
  const auto columns = call.integer("N");
  if (shape && !shape->empty()) shape->back() = columns ? Dim(*columns) : Dim();
  return outputs_of(call, tensor(call.in(0).type, std::move(shape)));
}

}  // namespace

std::span<const Descriptor> matmul_descriptors() {
  static const Descriptor all[] = {
      {.name = "MatMul", .domain = "", .since = {1, 9, 13}, .infer = infer, .macs = macs},
      {.name = "MatMulInteger",
       .domain = "",
       .since = {10},
       .infer = infer_integer,
       .macs = macs,
       .quantized = {{.input = 0, .zero_point = 2}, {.input = 1, .zero_point = 3}}},
      {.name = "QLinearMatMul",
       .domain = "",
       .since = {10, 21},
       .infer = infer_qlinear,
       .macs = macs,
       .quantized = {{.input = 0, .scale = 1, .zero_point = 2},
                     {.input = 3, .scale = 4, .zero_point = 5},
                     {.output = 0, .scale = 6, .zero_point = 7}}},
      {.name = "FusedMatMul", .domain = kMicrosoft, .since = {1}, .infer = infer_fused, .macs = macs_fused},
      {.name = "MatMulIntegerToFloat",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer_integer_to_float,
       .macs = macs,
       .quantized = {{.input = 0, .scale = 2, .zero_point = 4}, {.input = 1, .scale = 3, .zero_point = 5}}},
      {.name = "DynamicQuantizeMatMul",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer,
       .macs = macs,
       .quantized = {{.input = 1, .scale = 2, .zero_point = 3}}},
      {.name = "MatMulNBits",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer_n_bits,
       .macs = macs,
       .quantized = {{.input = 1, .scale = 2, .zero_point = 3}}},
  };
  return all;
}

}  // namespace anybit::ops
