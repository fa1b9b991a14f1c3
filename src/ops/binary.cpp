// Arithmetic on two or more tensors that broadcast against each other; the result has their type.
#include <algorithm>

#include "ops/elements.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// Before version 7, the second input was aligned at `axis`, and only if `broadcast` was set; the result then
// always has the first input's shape.
constexpr std::int64_t kNumpyBroadcast = 7;

Result<Value> broadcast_all(const Call& call) {
  Value value = tensor(call.in(0).type, call.in(0).shape);
  for (std::size_t i = 1; i < call.inputs.size(); ++i) {
    value.shape = TRY(broadcast(value.shape, call.in(i).shape));
    if (value.type == ElementType::undefined) value.type = call.in(i).type;
  }
  return value;
}

Result<Values> infer_binary(const Call& call, Combine fold) {
  if (call.version < kNumpyBroadcast && call.node.op_type.str() != "Mod") return infer_same(call);
  Value value = TRY(broadcast_all(call));
  if (fold && call.inputs.size() == 2) value.elements = combine(call.in(0), call.in(1), fold);
  return outputs_of(call, std::move(value));
}

Dim add(const Dim& a, const Dim& b) { return a + b; }
Dim subtract(const Dim& a, const Dim& b) { return a - b; }
Dim multiply(const Dim& a, const Dim& b) { return a * b; }
Dim smaller(const Dim& a, const Dim& b) {
  return a.known() && b.known() ? Dim(std::min(*a.size, *b.size)) : Dim();
}
Dim larger(const Dim& a, const Dim& b) {
  return a.known() && b.known() ? Dim(std::max(*a.size, *b.size)) : Dim();
}

// Exact quotients only: on integers ONNX truncates, on reals it does not.
Dim divide(const Dim& a, const Dim& b) {
  if (b.is(1)) return a;
  const bool exact = a.known() && b.known() && *b.size > 0 && *a.size % *b.size == 0;
  return exact ? Dim(*a.size / *b.size) : Dim();
}

Dim divide_integers(const Dim& a, const Dim& b) {
  return a.known() && *a.size >= 0 ? floor_div(a, b) : divide(a, b);
}

Dim modulo(const Dim& a, const Dim& b) {
  const bool positive = a.known() && b.known() && *a.size >= 0 && *b.size > 0;
  return positive ? Dim(*a.size % *b.size) : Dim();
}

Result<Values> infer_add(const Call& call) { return infer_binary(call, add); }
Result<Values> infer_sub(const Call& call) { return infer_binary(call, subtract); }
Result<Values> infer_mul(const Call& call) { return infer_binary(call, multiply); }
Result<Values> infer_div(const Call& call) {
  return infer_binary(call, is_float(call.in(0).type) ? divide : divide_integers);
}
Result<Values> infer_mod(const Call& call) { return infer_binary(call, modulo); }
Result<Values> infer_other(const Call& call) { return infer_binary(call, nullptr); }

// The variadic ones took equal shapes before version 8.
Result<Values> infer_variadic(const Call& call, Combine fold) {
  if (call.version < 8) return infer_same(call);
  Value value = TRY(broadcast_all(call));
  if (fold && call.inputs.size() == 2) value.elements = combine(call.in(0), call.in(1), fold);
  return outputs_of(call, std::move(value));
}
Result<Values> infer_max(const Call& call) { return infer_variadic(call, larger); }
Result<Values> infer_min(const Call& call) { return infer_variadic(call, smaller); }
Result<Values> infer_sum(const Call& call) { return infer_variadic(call, add); }
Result<Values> infer_mean(const Call& call) { return infer_variadic(call, nullptr); }

// A sum of quantized tensors: ONNX Runtime's own. The second operand's shape is input 3.
Result<Values> infer_qlinear(const Call& call) {
  return outputs_of(call, tensor(call.in(0).type, TRY(broadcast(call.in(0).shape, call.in(3).shape))));
}

std::vector<QuantizedTensor> qlinear_tensors() {
  return {{.input = 0, .scale = 1, .zero_point = 2},
          {.input = 3, .scale = 4, .zero_point = 5},
          {.output = 0, .scale = 6, .zero_point = 7}};
}

}  // namespace

std::span<const Descriptor> binary_descriptors() {
  static const Descriptor all[] = {
      {.name = "Add", .domain = "", .since = {1, 6, 7, 13, 14}, .infer = infer_add},
      {.name = "Sub", .domain = "", .since = {1, 6, 7, 13, 14}, .infer = infer_sub},
      {.name = "Mul", .domain = "", .since = {1, 6, 7, 13, 14}, .infer = infer_mul},
      {.name = "Div", .domain = "", .since = {1, 6, 7, 13, 14}, .infer = infer_div},
      {.name = "Mod", .domain = "", .since = {10, 13}, .infer = infer_mod},
      {.name = "Pow", .domain = "", .since = {1, 7, 12, 13, 15}, .infer = infer_other},
      {.name = "PRelu", .domain = "", .since = {1, 6, 7, 9, 16}, .infer = infer_same},
      {.name = "BitShift", .domain = "", .since = {11}, .infer = infer_other},
      {.name = "BitwiseAnd", .domain = "", .since = {18}, .infer = infer_other},
      {.name = "BitwiseOr", .domain = "", .since = {18}, .infer = infer_other},
      {.name = "BitwiseXor", .domain = "", .since = {18}, .infer = infer_other},
      {.name = "Max", .domain = "", .since = {1, 6, 8, 12, 13}, .infer = infer_max},
      {.name = "Min", .domain = "", .since = {1, 6, 8, 12, 13}, .infer = infer_min},
      {.name = "Sum", .domain = "", .since = {1, 6, 8, 13}, .infer = infer_sum},
      {.name = "Mean", .domain = "", .since = {1, 6, 8, 13}, .infer = infer_mean},
      {.name = "QLinearAdd",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer_qlinear,
       .quantized = qlinear_tensors()},
      {.name = "QLinearMul",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer_qlinear,
       .quantized = qlinear_tensors()},
  };
  return all;
}

}  // namespace anybit::ops
