// Integer matrix multiplication with int32 or float results. ONNX: MatMulInteger-10; ONNX Runtime's
// MatMulIntegerToFloat and DynamicQuantizeMatMul.
#include <algorithm>
#include <cmath>

#include "ops/check.hpp"
#include "ops/matmul/integer_gemm.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

using kernels::IntegerResult;

Dim macs(const Call& call, std::span<const Value> outputs) {
  const Value& a = call.in(0);
  if (!a.shape || a.shape->empty() || outputs.empty() || !outputs[0].shape) return {};
  return product(*outputs[0].shape) * a.shape->back();
}

Result<Values> infer_as(const Call& call, ElementType type) {
  return outputs_of(call, tensor(type, TRY(matmul_shape(call.in(0).shape, call.in(1).shape))));
}
Result<Values> infer(const Call& call) { return infer_as(call, ElementType::int32); }
// Dequantized result: its type is that of the scale. The bias may have more axes than the result, as in a
// following Add.
Result<Values> infer_real(const Call& call) {
  auto shape = TRY(matmul_shape(call.in(0).shape, call.in(1).shape));
  if (call.has(6)) shape = TRY(broadcast(shape, call.in(6).shape));
  return outputs_of(call, tensor(call.in(2).type, std::move(shape)));
}
Result<Values> infer_dynamic(const Call& call) { return infer_as(call, call.in(0).type); }

constexpr IntegerInputs kInteger{0, 2, 1, 3}, kReal{0, 4, 1, 5}, kDynamic{0, kNoInput, 1, 3};

Result<std::shared_ptr<const Prepared>> prepare(const Setup& setup) {
  return prepare_integer(setup, kInteger);
}
Result<std::shared_ptr<const Prepared>> prepare_real(const Setup& setup) {
  return prepare_integer(setup, kReal);
}
Result<std::shared_ptr<const Prepared>> prepare_dynamic(const Setup& setup) {
  return prepare_integer(setup, kDynamic);
}

bool is_bytes(ElementType type) { return type == ElementType::int8 || type == ElementType::uint8; }

Result<void> run(Frame& frame) {
  if (!is_bytes(frame.in(0).type())) return wrong_type(frame, 0);
  const IntegerTerms terms = TRY(IntegerTerms::of(frame, kInteger));
  Array& out = *TRY(frame.out(0, ElementType::int32, terms.matmul.out));
  multiply_integers(frame, terms, {}, {}, out);
  return {};
}

// The bias of a float result, one value per column.
Result<kernels::Spread<float>> bias_of(Frame& frame, std::size_t input, std::int64_t columns) {
  if (!frame.has(input)) return kernels::Spread<float>{};
  const Along<float> bias = TRY(scales_of(frame, input, columns, 1));
  return kernels::Spread<float>{bias.data, 0, bias.stride};
}

Result<void> run_real(Frame& frame) {
  TRY(expect_inputs(frame, {2, 3}));
  if (!is_bytes(frame.in(0).type())) return wrong_type(frame, 0);
  const IntegerTerms terms = TRY(IntegerTerms::of(frame, kReal));
  const BatchedMatMul& p = terms.matmul;
  const auto a_scale = TRY(scales_of(frame, 2, p.m, p.count)),
             b_scale = TRY(scales_of(frame, 3, p.n, p.count));
  const IntegerScales scales = TRY(scales_of(frame, terms, a_scale, b_scale, 1));
  const auto bias = TRY(bias_of(frame, 6, p.n));
  const kernels::IntegerEpilogue epilogue{.type = IntegerResult::float32, .addend = bias};
  const Dims dims = frame.has(6) ? TRY(broadcast_dims(p.out, frame.in(6).dims())) : p.out;
  Array& out = *TRY(frame.out(0, frame.in(2).type(), dims));
  if (out.type() == ElementType::float32) {
    multiply_integers(frame, terms, epilogue, scales, out);
    return {};
  }
  float* wide = TRY(frame.scratch_of<float>(out.count())).data();
  Array result = Array::over(ElementType::float32, p.out, reinterpret_cast<std::byte*>(wide));
  multiply_integers(frame, terms, epilogue, scales, result);
  from_floats(wide, out);
  return {};
}

struct Quantized {
  const std::uint8_t* integers;
  float scale;
  std::int32_t zero_point;
};

// Like DynamicQuantizeLinear: asymmetric uint8 over the range of the tensor, which includes zero.
Result<Quantized> quantize(Frame& frame, const Array& array) {
  if (only_checks(frame)) return Quantized{nullptr, 1, 0};
  const float* x = array.data<float>();
  float low = 0, high = 0;
  for (std::int64_t i = 0; i < array.count(); ++i) low = std::min(low, x[i]), high = std::max(high, x[i]);
  if (!std::isfinite(high - low)) low = high = 0;
  const float scale = high > low ? (high - low) / 255.0f : 1.0f;
  const float zero = std::nearbyint(std::clamp(-low / scale, 0.0f, 255.0f));
  std::uint8_t* integers = TRY(frame.scratch_of<std::uint8_t>(array.count())).data();
  parallel(frame, array.count(), 0.5, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const float code = std::nearbyint(x[i] / scale) + zero;
      integers[i] = static_cast<std::uint8_t>(code >= 0 ? std::min(code, 255.0f) : 0.0f);  // NaN: zero
    }
  });
  return Quantized{integers, scale, static_cast<std::int32_t>(zero)};
}

Result<void> run_dynamic(Frame& frame) {
  const Array& a = frame.in(0);
  TRY(expect_inputs(frame, {2}));
  if (a.type() != ElementType::float32) return wrong_type(frame, 0);
  IntegerTerms terms = TRY(IntegerTerms::of(frame, kDynamic));
  const BatchedMatMul& p = terms.matmul;
  const Quantized left = TRY(quantize(frame, a));
  terms.a_zero = {&left.zero_point, 0, 0};
  const IntegerScales scales =
      TRY(scales_of(frame, terms, {&left.scale, 0, 0}, TRY(scales_of(frame, 2, p.n, p.count)), 1));
  const auto bias = TRY(bias_of(frame, 4, p.n));
  Array& out = *TRY(frame.out(0, ElementType::float32, p.out));
  multiply_integers(frame, terms, {.type = IntegerResult::float32, .addend = bias}, scales, out,
                    left.integers);
  return {};
}

}  // namespace

std::span<const Descriptor> matmul_integer_descriptors() {
  static const Descriptor all[] = {
      {.name = "MatMulInteger",
       .domain = "",
       .since = {10},
       .infer = infer,
       .macs = macs,
       .quantized = {{.input = 0, .zero_point = 2}, {.input = 1, .zero_point = 3}},
       .run = run,
       .prepare = prepare,
       .required = 2},
      {.name = "MatMulIntegerToFloat",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer_real,
       .macs = macs,
       .quantized = {{.input = 0, .scale = 2, .zero_point = 4}, {.input = 1, .scale = 3, .zero_point = 5}},
       .run = run_real,
       .prepare = prepare_real,
       .required = 4},
      {.name = "DynamicQuantizeMatMul",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer_dynamic,
       .macs = macs,
       .quantized = {{.input = 1, .scale = 2, .zero_point = 3}},
       .run = run_dynamic,
       .prepare = prepare_dynamic,
       .required = 3},
  };
  return all;
}

}  // namespace anybit::ops
