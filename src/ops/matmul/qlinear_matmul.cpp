// Matrix multiplication of quantized tensors with quantized results. ONNX: QLinearMatMul-10, -21; ONNX
// Runtime's QGemm.
#include "ops/check.hpp"
#include "ops/matmul/integer_gemm.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

using kernels::IntegerResult;

std::optional<Shape> swapped(const std::optional<Shape>& shape, bool swap) {
  if (!shape || !swap || shape->size() != 2) return shape;
  return Shape{(*shape)[1], (*shape)[0]};
}

// The shape of MatMul; QGemm may transpose its operands.
Result<std::optional<Shape>> shape_of(const Call& call) {
  return matmul_shape(swapped(call.in(0).shape, call.flag("transA")),
                      swapped(call.in(3).shape, call.flag("transB")));
}
Result<Values> infer(const Call& call) {
  const ElementType type = call.in(7).type != ElementType::undefined ? call.in(7).type : call.in(0).type;
  return outputs_of(call, tensor(type, TRY(shape_of(call))));
}
// Without scale and zero point of the result, QGemm returns float32.
Result<Values> infer_gemm(const Call& call) {
  const ElementType type = call.has(7) && call.has(8) ? call.in(8).type : ElementType::float32;
  return outputs_of(call, tensor(type, TRY(shape_of(call))));
}
Dim macs(const Call& call, std::span<const Value> outputs) {
  const auto a = swapped(call.in(0).shape, call.flag("transA"));
  if (!a || a->empty() || outputs.empty() || !outputs[0].shape) return {};
  return product(*outputs[0].shape) * a->back();
}

constexpr IntegerInputs kInputs{0, 2, 3, 5};

Result<std::shared_ptr<const Prepared>> prepare(const Setup& setup) {
  return prepare_integer(setup, kInputs);
}

// Inputs 0 to 5 of both operators.
struct Terms {
  IntegerTerms integers;
  Along<float> a_scale, b_scale;
};
Result<Terms> terms_of(Frame& frame) {
  TRY(expect_inputs(frame, {1, 4}));
  if (!result_of(frame.in(0).type())) return wrong_type(frame, 0);
  Terms terms{TRY(IntegerTerms::of(frame, kInputs)), {}, {}};
  const BatchedMatMul& p = terms.integers.matmul;
  terms.a_scale = TRY(scales_of(frame, 1, p.m, p.count));
  terms.b_scale = TRY(scales_of(frame, 4, p.n, p.count));
  return terms;
}

// Quantized result: `zero` is the input index of its zero point, `divisor` its scale.
Result<void> run_quantized(Frame& frame, const Terms& terms, std::size_t zero, double divisor,
                           const kernels::Spread<std::int32_t>& bias) {
  const Array& zero_point = frame.in(zero);
  const auto type = result_of(zero_point.type());
  if (!type) return wrong_type(frame, zero);
  const QuantizedRange range = range_of(zero_point.type());
  const auto zero_code = static_cast<std::int32_t>(TRY(integer_from(zero_point, "the result's zero point")));
  const kernels::IntegerEpilogue epilogue{
      .type = *type, .bias = bias, .zero_point = zero_code, .low = range.low, .high = range.high};
  const IntegerScales scales = TRY(scales_of(frame, terms.integers, terms.a_scale, terms.b_scale, divisor));
  Array& out = *TRY(frame.out(0, zero_point.type(), terms.integers.matmul.out));
  multiply_integers(frame, terms.integers, epilogue, scales, out);
  return {};
}

Result<void> run(Frame& frame) {
  const Terms terms = TRY(terms_of(frame));
  return run_quantized(frame, terms, 7, TRY(scalar_from(frame.in(6), "the result's scale")), {});
}

Result<void> run_gemm(Frame& frame) {
  if (frame.in(0).rank() != 2 || frame.in(3).rank() != 2) {
    return wrong("QGemm multiplies matrices: inputs 0 and 3 must have rank 2");
  }
  const Terms terms = TRY(terms_of(frame));
  const BatchedMatMul& p = terms.integers.matmul;
  kernels::Spread<std::int32_t> bias;
  if (frame.has(6)) {
    const Array& c = frame.in(6);
    if (c.type() != ElementType::int32) return wrong_type(frame, 6);
    const BroadcastAddend stretched = TRY(BroadcastAddend::over(c.dims(), p.m, p.n));
    bias = {c.data<std::int32_t>(), stretched.row_stride, stretched.column_stride};
  }
  const double alpha = frame.real("alpha", 1);
  if (alpha == 0) return wrong("alpha is 0", "any other number");
  if (frame.has(7) && frame.has(8)) {
    return run_quantized(frame, terms, 8, TRY(scalar_from(frame.in(7), "the result's scale")) / alpha, bias);
  }
  const IntegerScales scales = TRY(scales_of(frame, terms.integers, terms.a_scale, terms.b_scale, 1 / alpha));
  Array& out = *TRY(frame.out(0, ElementType::float32, p.out));
  multiply_integers(frame, terms.integers, {.type = IntegerResult::float32, .bias = bias}, scales, out);
  return {};
}

}  // namespace

std::span<const Descriptor> qlinear_matmul_descriptors() {
  static const Descriptor all[] = {
      {.name = "QLinearMatMul",
       .domain = "",
       .since = {10, 21},
       .infer = infer,
       .macs = macs,
       .quantized = {{.input = 0, .scale = 1, .zero_point = 2},
                     {.input = 3, .scale = 4, .zero_point = 5},
                     {.output = 0, .scale = 6, .zero_point = 7}},
       .run = run,
       .prepare = prepare,
       .required = 8},
      {.name = "QGemm",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer_gemm,
       .macs = macs,
       .quantized = {{.input = 0, .scale = 1, .zero_point = 2},
                     {.input = 3, .scale = 4, .zero_point = 5},
                     {.input = 6},
                     {.output = 0, .scale = 7, .zero_point = 8}},
       .run = run_gemm,
       .prepare = prepare,
       .required = 6},
  };
  return all;
}

}  // namespace anybit::ops
