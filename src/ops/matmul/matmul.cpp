// MatMul: matrix multiplication with numpy's broadcasting. ONNX: MatMul-1, -9, -13; ONNX Runtime's
// FusedMatMul.
#include "graph/node.hpp"
#include "ops/gradient.hpp"
#include "ops/matmul/batched_gemm.hpp"
#include "ops/rules.hpp"

namespace anybit::ops {
namespace {

// The reduction axis is the last axis of the first operand.
Dim macs_with(const Value& a, std::span<const Value> outputs) {
  if (!a.shape || a.shape->empty() || outputs.empty() || !outputs[0].shape) return {};
  return product(*outputs[0].shape) * a.shape->back();
}

Result<Values> infer(const Call& call) {
  return outputs_of(call, tensor(call.in(0).type, TRY(matmul_shape(call.in(0).shape, call.in(1).shape))));
}
Dim macs(const Call& call, std::span<const Value> outputs) { return macs_with(call.in(0), outputs); }

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

// Only FusedMatMul has transposing attributes; MatMul ignores them even if its node has them.
bool is_fused(const Attributes& node) { return node.node.op_type.str() == "FusedMatMul"; }

Result<Operand> operand(const Attributes& node, const Dims& dims, bool left) {
  if (!is_fused(node)) return Operand::of(dims, left, false, false);
  return Operand::of(dims, left, node.flag(left ? "transA" : "transB"),
                     node.flag(left ? "transBatchA" : "transBatchB"));
}

Result<std::shared_ptr<const Prepared>> prepare(const Setup& setup) {
  const Array* b = setup.constant(1);
  if (!b || b->rank() == 0) return std::shared_ptr<const Prepared>();
  return std::shared_ptr<const Prepared>(PackedOperand::of(b, TRY(operand(setup, b->dims(), false))));
}

Result<void> run(Frame& frame) {
  const Array &a = frame.in(0), &b = frame.in(1);
  if (a.type() != b.type()) return wrong_type(frame, 1);
  BatchedMatMul matmul =
      TRY(BatchedMatMul::of(TRY(operand(frame, a.dims(), true)), TRY(operand(frame, b.dims(), false))));
  matmul.fold();
  if (!for_number(a.type(), [](auto) {}) || (is_fused(frame) && !is_float(a.type())))
    return wrong_type(frame, 0);
  const double alpha = is_fused(frame) ? frame.real("alpha", 1) : 1;
  Array& out = *TRY(frame.out(0, a.type(), matmul.out));
  const kernels::FloatEpilogue epilogue{.alpha = static_cast<float>(alpha)};
  if (computes_in_floats(a.type())) return multiply_floats(frame, matmul, out, epilogue);
  for_number(a.type(), [&]<class T>(T) {
    if constexpr (!kIsHalf<T> && !std::is_same_v<T, float>) {
      multiply_naive(frame, matmul, a.data<T>(), b.data<T>(), out.mutable_data<T>());
      if constexpr (std::is_floating_point_v<T>) {
        for (T& x : out.elements<T>()) x *= static_cast<T>(alpha);
      }
    }
  });
  return {};
}

// Whether the weight of FusedMatMul is transposed.
bool is_transposed(const graph::Node& node, std::size_t rank) {
  return rank > 1 && graph::attribute_or<std::int64_t>(node, "transB", 0) != 0;
}
std::int64_t channel_axis(const graph::Node& node, std::size_t rank) {
  return is_transposed(node, rank) ? last_but_one_axis(node, rank) : last_axis(node, rank);
}
std::int64_t reduction_axis(const graph::Node& node, std::size_t rank) {
  return is_transposed(node, rank) ? last_axis(node, rank) : last_but_one_axis(node, rank);
}

std::string swapped(Gradient& g, const std::string& matrix, std::size_t rank) {
  std::vector<std::int64_t> order(rank);
  for (std::size_t i = 0; i < rank; ++i) order[i] = static_cast<std::int64_t>(i);
  std::swap(order[rank - 1], order[rank - 2]);
  return g.add("Transpose", {matrix}, {graph::attribute("perm", std::move(order))});
}

graph::Attribute transposed(std::string_view which) { return graph::attribute(which, std::int64_t{1}); }

// One matrix for the whole batch: the batch is a longer matrix.
void gradient_of_weight(Gradient& g, std::size_t rank) {
  const auto matrix = [&](const std::string& value) {
    if (rank == 2) return value;
    return g.add("Flatten", {value}, {graph::attribute("axis", static_cast<std::int64_t>(rank - 1))});
  };
  const std::string dy = matrix(g.dy());
  if (g.wants(0)) {
    const std::string dx = g.add("Gemm", {dy, g.input(1)}, {transposed("transB")});
    const bool is_matrix = rank == 2;
    g.set(0, is_matrix ? dx
                       : g.add("Reshape", {dx, g.shape(g.input(0))},
                               {graph::attribute("allowzero", std::int64_t{1})}));
  }
  if (g.wants(1)) g.set(1, g.add("Gemm", {matrix(g.input(0)), dy}, {transposed("transA")}));
}

// dA = dY · Bᵀ, dB = Aᵀ · dY. A vector is a matrix of one row, or one column.
Result<void> gradient(Gradient& g) {
  const auto &a_shape = g.in(0).shape, &b_shape = g.in(1).shape;
  if (!a_shape || !b_shape) return wrong("the ranks of its inputs are not known before the model runs");
  std::size_t a_rank = a_shape->size(), b_rank = b_shape->size();
  if (a_rank >= 2 && b_rank == 2) {
    gradient_of_weight(g, a_rank);
    return {};
  }
  std::string a = g.input(0), b = g.input(1), dy = g.dy();
  const bool row = a_rank == 1, column = b_rank == 1;
  if (column) dy = g.add("Unsqueeze", {dy, g.integers({-1})});
  if (row) dy = g.add("Unsqueeze", {dy, g.integers({-2})});
  if (row) a = g.add("Unsqueeze", {a, g.integers({0})}), a_rank = 2;
  if (column) b = g.add("Unsqueeze", {b, g.integers({1})}), b_rank = 2;
  if (g.wants(0)) {
    const std::string dx = g.add("MatMul", {dy, swapped(g, b, b_rank)});
    g.set(0, row ? g.add("Squeeze", {dx, g.integers({-2})}) : dx);
  }
  if (g.wants(1)) {
    const std::string dx = g.add("MatMul", {swapped(g, a, a_rank), dy});
    g.set(1, column ? g.add("Squeeze", {dx, g.integers({-1})}) : dx);
  }
  return {};
}

}  // namespace

std::span<const Descriptor> matmul_descriptors() {
  static const Descriptor all[] = {
      {.name = "MatMul",
       .domain = "",
       .since = {1, 9, 13},
       .infer = infer,
       .macs = macs,
       .run = run,
       .prepare = prepare,
       .required = 2,
       .traits = {.role = Traits::Role::compute,
                  .data = {0, 1},
                  .weights = {{1, last_axis}, {0, last_but_one_axis, last_axis}},
                  .linear = Traits::Linear::matrices},
       .gradient = gradient},
      {.name = "FusedMatMul",
       .domain = kMicrosoft,
       .since = {1},
       .infer = infer_fused,
       .macs = macs_fused,
       .run = run,
       .prepare = prepare,
       .required = 2,
       .traits = {.role = Traits::Role::compute,
                  .data = {0, 1},
                  .weights = {{1, channel_axis, reduction_axis}},
                  .linear = Traits::Linear::matrices}},
  };
  return all;
}

}  // namespace anybit::ops
