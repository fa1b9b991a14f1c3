// Gemm: alpha·A·B + beta·C on matrices. ONNX: Gemm-1 … -13; ONNX Runtime's FusedGemm.

#include "base/math.hpp"
#include "graph/node.hpp"
#include "ops/convert.hpp"
#include "ops/elementwise/binary_functions.hpp"
#include "ops/gradient.hpp"
#include "ops/matmul/batched_gemm.hpp"
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

Result<Values> infer(const Call& call) {
  const Sides sides = TRY(sides_of(call, call.in(0), call.in(1)));
  return outputs_of(call, tensor(call.in(0).type, Shape{sides.rows, sides.columns}));
}
Dim macs(const Call& call, std::span<const Value>) {
  const auto sides = sides_of(call, call.in(0), call.in(1));
  return sides.ok() ? sides->rows * sides->inner * sides->columns : Dim();
}

Result<std::shared_ptr<const Prepared>> prepare(const Setup& setup) {
  const Array* b = setup.constant(1);
  if (!b || b->rank() != 2) return std::shared_ptr<const Prepared>();
  const Operand operand = TRY(Operand::of(b->dims(), false, setup.flag("transB")));
  return std::shared_ptr<const Prepared>(PackedOperand::of(b, operand));
}

struct Terms {
  BatchedMatMul matmul;
  BroadcastAddend c;
  bool has_c;
  double alpha, beta;
};

// Computed in float32: float32 itself, and the 16-bit floats.
Result<void> run_floats(Frame& frame, const Terms& terms, Array& out) {
  kernels::FloatEpilogue epilogue{.alpha = static_cast<float>(terms.alpha),
                                  .beta = static_cast<float>(terms.beta)};
  if (terms.has_c) {
    epilogue.addend = {TRY(as_floats(frame, frame.in(2))), terms.c.row_stride, terms.c.column_stride};
  }
  if (frame.text("activation", "") == "Relu") epilogue.low = 0;
  return multiply_floats(frame, terms.matmul, out, epilogue);
}

template <class T>
void run_plainly(Frame& frame, const Terms& terms, Array& out) {
  multiply_naive(frame, terms.matmul, frame.in(0).data<T>(), frame.in(1).data<T>(), out.mutable_data<T>());
  const T* c = terms.has_c ? frame.in(2).data<T>() : nullptr;
  const auto factor = [](double x) {
    if constexpr (std::is_integral_v<T>)
      return to_integral<T>(x);
    else
      return static_cast<T>(x);
  };
  const T alpha = factor(terms.alpha), beta = factor(terms.beta);
  T* to = out.mutable_data<T>();
  for (std::int64_t i = 0; i < out.count(); ++i) {
    const std::int64_t row = i / terms.matmul.n, column = i % terms.matmul.n;
    const T addend =
        c ? MultiplyPair()(beta, c[row * terms.c.row_stride + column * terms.c.column_stride]) : T(0);
    to[i] = AddPair()(MultiplyPair()(alpha, to[i]), addend);
  }
}

Result<Array*> compute(Frame& frame) {
  const Array &a = frame.in(0), &b = frame.in(1);
  if (a.rank() != 2 || b.rank() != 2) {
    return wrong(fmt::format("Gemm multiplies matrices, not {} and {}", to_string(a), to_string(b)),
                 "two inputs of rank 2");
  }
  if (a.type() != b.type()) return wrong_type(frame, 1);
  const Operand left = TRY(Operand::of(a.dims(), true, frame.flag("transA")));
  const Operand right = TRY(Operand::of(b.dims(), false, frame.flag("transB")));
  Terms terms{
      TRY(BatchedMatMul::of(left, right)), {}, frame.has(2), frame.real("alpha", 1), frame.real("beta", 1)};
  if (terms.has_c) {
    if (frame.in(2).type() != a.type()) return wrong_type(frame, 2);
    terms.c = TRY(BroadcastAddend::over(frame.in(2).dims(), terms.matmul.m, terms.matmul.n));
  }
  if (!for_number(a.type(), [](auto) {})) return wrong_type(frame, 0);
  Array& out = *TRY(frame.out(0, a.type(), terms.matmul.out));
  if (computes_in_floats(a.type())) {
    TRY(run_floats(frame, terms, out));
    return &out;
  }
  for_number(a.type(), [&]<class T>(T) {
    if constexpr (!kIsHalf<T> && !std::is_same_v<T, float>) run_plainly<T>(frame, terms, out);
  });
  return &out;
}

Result<void> run(Frame& frame) {
  TRY(compute(frame));
  return {};
}

// Gemm followed by an activation.
Result<void> run_fused(Frame& frame) {
  const std::string_view name = frame.text("activation", "");
  const auto alpha = static_cast<float>(frame.real("activation_alpha", 0.01));
  if (frame.in(0).type() != ElementType::float32) return wrong_type(frame, 0);
  if (!name.empty() && name != "Relu" && name != "LeakyRelu" && name != "Tanh" && name != "Sigmoid") {
    return wrong(fmt::format("activation '{}' is not known to FusedGemm", name),
                 "Relu, LeakyRelu, Tanh or Sigmoid");
  }
  for (float& x : (*TRY(compute(frame))).elements<float>()) {
    if (name == "LeakyRelu") x = x < 0 ? alpha * x : x;
    if (name == "Tanh") x = math::tanh(x);
    if (name == "Sigmoid") x = 1 / (1 + math::exp(-x));
  }
  return {};
}

bool is_turned(const graph::Node& node, const char* flag) {
  return graph::attribute_or<std::int64_t>(node, flag, 0) != 0;
}
std::int64_t columns_axis(const graph::Node& node, std::size_t) { return is_turned(node, "transB") ? 0 : 1; }
std::int64_t rows_axis(const graph::Node& node, std::size_t) { return is_turned(node, "transA") ? 1 : 0; }

constexpr Traits kTraits{.role = Traits::Role::compute,
                         .data = {0, 1},
                         .weights = {{1, columns_axis}, {0, rows_axis}},
                         .bias = 2,
                         .linear = Traits::Linear::matrices};

// The products of dY with the other matrix; transposed if the input is.
Result<void> gradient(Gradient& g) {
  const bool a_turned = g.flag("transA"), b_turned = g.flag("transB");
  const auto product = [&](const std::string& left, bool turns_left, const std::string& right,
                           bool turns_right) {
    return g.add("Gemm", {left, right},
                 {graph::attribute("alpha", static_cast<float>(g.real("alpha", 1))),
                  graph::attribute("transA", static_cast<std::int64_t>(turns_left)),
                  graph::attribute("transB", static_cast<std::int64_t>(turns_right))});
  };
  const std::string dy = g.dy();
  if (g.wants(0))
    g.set(0, a_turned ? product(g.input(1), b_turned, dy, true) : product(dy, false, g.input(1), !b_turned));
  if (g.wants(1))
    g.set(1, b_turned ? product(dy, true, g.input(0), a_turned) : product(g.input(0), !a_turned, dy, false));
  const double beta = g.real("beta", 1);
  if (g.wants(2)) g.set(2, beta == 1 ? dy : g.add("Mul", {dy, g.number(beta)}));
  return {};
}

}  // namespace

std::span<const Descriptor> gemm_descriptors() {
  static const Descriptor all[] = {
      {.name = "Gemm",
       .domain = "",
       .since = {1, 6, 7, 9, 11, 13},
       .infer = infer,
       .macs = macs,
       .run = run,
       .prepare = prepare,
       .required = 2,
       .traits = kTraits,
       .gradient = gradient},
      {.name = "FusedGemm",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer,
       .macs = macs,
       .run = run_fused,
       .prepare = prepare,
       .required = 2,
       .traits = kTraits},
  };
  return all;
}

}  // namespace anybit::ops
