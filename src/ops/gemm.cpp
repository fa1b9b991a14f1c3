// Gemm: alpha·A·B + beta·C on matrices. ONNX: Gemm-1 … -13; ONNX Runtime's FusedGemm and QGemm.
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

struct Sides {
  Dim rows, inner, columns;
};

Result<Sides> sides_of(const Call& call, const Value& a, const Value& b) {
  if ((a.shape && a.shape->size() != 2) || (b.shape && b.shape->size() != 2)) {
    return wrong("Gemm multiplies matrices: both inputs must have rank 2",
                 "MatMul takes batches of matrices; Flatten makes a matrix of a batch");
  }
  const Shape left = a.shape.value_or(unknown_shape(2));
  const Shape right = b.shape.value_or(unknown_shape(2));
  const std::size_t ta = call.integer("transA", 0) != 0 ? 1 : 0;
  const std::size_t tb = call.integer("transB", 0) != 0 ? 1 : 0;
  const Dim& inner_a = left[1 - ta];
  const Dim& inner_b = right[tb];
  if (inner_a.known() && inner_b.known() && !same(inner_a, inner_b)) {
    return wrong(fmt::format("[{}] and [{}] do not multiply with transA={} and transB={}", to_string(left),
                             to_string(right), ta, tb));
  }
  return Sides{left[ta], inner_a.known() ? inner_a : inner_b, right[1 - tb]};
}

Result<Values> infer_with(const Call& call, const Value& a, const Value& b, ElementType type) {
  const Sides sides = TRY(sides_of(call, a, b));
  return outputs_of(call, tensor(type, Shape{sides.rows, sides.columns}));
}

Dim macs_with(const Call& call, const Value& a, const Value& b) {
  const auto sides = sides_of(call, a, b);
  return sides.ok() ? sides->rows * sides->inner * sides->columns : Dim();
}

Result<Values> infer(const Call& call) { return infer_with(call, call.in(0), call.in(1), call.in(0).type); }
Dim macs(const Call& call, std::span<const Value>) { return macs_with(call, call.in(0), call.in(1)); }

// Without a scale for the result, QGemm gives floats.
Result<Values> infer_qgemm(const Call& call) {
  return infer_with(call, call.in(0), call.in(3), call.has(8) ? call.in(8).type : ElementType::float32);
}
Dim macs_qgemm(const Call& call, std::span<const Value>) { return macs_with(call, call.in(0), call.in(3)); }

}  // namespace

std::span<const Descriptor> gemm_descriptors() {
  static const Descriptor all[] = {
      {.name = "Gemm", .domain = "", .since = {1, 6, 7, 9, 11, 13}, .infer = infer, .macs = macs},
      {.name = "FusedGemm", .domain = kMicrosoft, .since = {1}, .infer = infer, .macs = macs},
      {.name = "QGemm",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer_qgemm,
       .macs = macs_qgemm,
       .quantized = {{.input = 0, .scale = 1, .zero_point = 2},
                     {.input = 3, .scale = 4, .zero_point = 5},
                     {.input = 6},
                     {.output = 0, .scale = 7, .zero_point = 8}}},
  };
  return all;
}

}  // namespace anybit::ops
